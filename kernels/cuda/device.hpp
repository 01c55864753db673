#pragma once
// GPUs as devices: what the rest of the house may know of CUDA, without its headers. A build
// without the CUDA Toolkit has absent.cpp behind it; tests may have a stand-in that computes on the
// processor (standin/).
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device.hpp"
#include "profilers/cupti.hpp"
#include "profilers/nvtx.hpp"

namespace shardmark::cuda {

bool built();           // with the CUDA Toolkit
std::string library();  // "CUDA 13.0, cuBLASLt 13.0.2"; where there is none, what would bring it

struct Gpu {
  std::string name;
  int major = 0, minor = 0, multiprocessors = 0;  // compute capability
  std::uint64_t memory_bytes = 0;
  std::string pci_bus_id;  // "0000:3b:00.0"
  // Whose it is on this host, in whatever order a process may see GPUs: where it is, and its UUID,
  // which tells the parts of one apart (MIG).
  std::string id;
};
// That can be used, asked once; empty where why_none() says why.
const std::vector<Gpu>& gpus();
// One sentence on why no GPU can be used here; empty where one can.
std::string why_none();

struct Options {
  int gpu = 0;                 // of gpus()
  bool overlap = true;         // a stream for communication
  bool record = true;          // keep the timeline
  bool tf32 = false;           // products of f32 operands may round them to 10 bits of fraction
  nvtx::Owner owner{};         // what profilers call them; two_queues does not count
  double timeout_s = 60;       // a wait in which no span ends for longer throws
  std::function<void()> poll;  // called while waiting; throws if another rank has failed
  std::function<void(const Interval&)> on_span;
  // Is told of each span, by its rank, lane and ticket; none: nobody records. Outlives the device.
  cupti::Recorder* recorder = nullptr;
};

// Bytes that the driver says are free on this GPU, whoever holds the others.
std::uint64_t free_bytes(int gpu);

// Throws InputError where this GPU cannot be used, Error where CUDA fails.
std::unique_ptr<Device> make_device(Options);

// Where a queue of any GPU of this process stands; another queue may wait for it there, on the GPU.
// An empty one is behind nothing.
using Mark = std::shared_ptr<void>;
Mark mark(Queue&);
void wait_for(Queue&, const Mark&);
// Ranks that are threads read each other's memory. One sentence, without its full stop, naming two
// of the first so many GPUs that cannot; empty where all can. Makes no context.
std::string why_no_peers(int gpus);
void let_read_each_other(int gpus);  // which all can

// Bytes that this device has asked the driver for, and keeps.
std::uint64_t reserved_bytes(Device&);
// Products on this device that our own tiles took because cuBLASLt proposed no algorithm.
std::uint64_t products_by_tiles(Device&);

// Memory that host and GPU address alike, for tests: given back by the last owner.
std::shared_ptr<void> managed_bytes(std::size_t);
// One op on a GPU, and nothing else beside it: the caller waits. For tests; one thread at a time.
void run_here(const Op&, int gpu);
// Bytes of scratch that such a GPU asks for an op; only its shape counts, and no GPU is touched.
std::size_t scratch_bytes(const Op&, const Gpu&);

}  // namespace shardmark::cuda
