#pragma once
// Which device does a rank compute on, and what may be asked of it before there is one? The
// processor, or a GPU; everything behind this sees a Device.
#include "impl/comm/world.hpp"
#include "impl/train.hpp"
#include "kernels/cpu/device.hpp"
#include "kernels/cuda/device.hpp"

namespace shardmark {

// What a rank's device is told, whichever it is.
struct DeviceCalls {
  std::int64_t spin_ns = 0;
  std::function<void()> poll;
  std::function<void(std::exception_ptr)> on_error;
  std::function<void(const Interval&)> on_span;
  std::function<void(const Op&, int step, std::int64_t ns)> on_op;  // the processor's alone
  cupti::Recorder* recorder = nullptr;                              // of GPUs alone
};

// place: which of the ranks on this host it is; where there are more of them than GPUs, they share.
std::unique_ptr<Device> make_device(const Training&, const nvtx::Owner&, int place, DeviceCalls);

// Bytes of scratch that the device of this training asks for an op.
std::size_t scratch_bytes(const Training&, const Op&);

// Nanoseconds that a product takes alone on this device of a training.
double product_ns(const Training&, Device&, const Matmul& shape);

// Which GPU the rank in this place has; -1: none.
int gpu_of(const Training&, int place);

// Throws InputError where this training cannot have its device here. ranks_here: of this process.
void check_device(const Training&, int ranks_here);
// The same on all ranks, where they are processes and two of them have one GPU that NCCL wants for
// each alone. Which GPUs a process sees is its launcher's choice.
void check_own_gpu(const Training&, World&, int place);

}  // namespace shardmark
