#pragma once
// How do GPUs exchange arrays by NVIDIA's library? One communicator a rank, whether ranks are
// threads or processes; each verb is one call on the stream of the communication queue. Everything
// that needs NCCL's header, without it: where it is absent, nccl_absent.cpp stands in.
#include <bit>
#include <memory>
#include <string>

#include "impl/comm/communicator.hpp"
#include "impl/comm/world.hpp"

namespace shardmark::nccl {

bool built();
std::string library();  // "NCCL 2.28.9"; where there is none, what would bring it

// NCCL's own settings, where the user has made none: to be called before anything of this process
// has threads.
void prepare();

// Whether a mean is NCCL's own (ncclAvg), else its sum divided by us: NCCL rounds 1/N to the type
// (src/enqueue.cc, hostToDevRedOp), and in bf16 a third would be 0.2 % too large.
inline bool is_own_mean(DType type, int ranks) {
  return type != DType::bf16 || std::has_single_bit(static_cast<unsigned>(ranks));
}

enum class RanksAre { threads, processes };

// Collective over the world; on the thread that made the device. What goes wrong later, and a verb
// that does not end within timeout_s, is said to the world, and all that still waits is aborted.
std::unique_ptr<Communicator> communicator(Device&, World&, RanksAre, double timeout_s);

}  // namespace shardmark::nccl
