// How do queues of several devices of this process wait for each other? By events that they pass
// around; the host waits for none of them.
#include "kernels/cuda/gpu_device.hpp"

namespace shardmark::cuda {

Mark mark(Queue& q) {
  auto m = std::make_shared<Moment>(false);
  m->record(gpu_queue(q).stream());
  return m;
}

void wait_for(Queue& q, const Mark& m) {
  if (!m) return;
  const auto& moment = *static_cast<const Moment*>(m.get());
  check(cudaStreamWaitEvent(gpu_queue(q).stream(), moment.get(), 0), "waiting for a peer");
}

std::string why_no_peers(int gpus) {
  for (int reader = 0; reader < gpus; ++reader) {
    for (int peer = 0; peer < gpus; ++peer) {
      int can = 0;
      if (peer != reader)
        check(cudaDeviceCanAccessPeer(&can, reader, peer), "whether a GPU reads another's memory");
      if (peer != reader && !can)
        return "GPU " + std::to_string(reader) + " cannot read the memory of GPU " +
               std::to_string(peer) + ": take --comm nccl";
    }
  }
  return "";
}

void let_read_each_other(int gpus) {
  int before = 0;
  check(cudaGetDevice(&before), "which GPU is chosen");
  for (int reader = 0; reader < gpus; ++reader) {
    check(cudaSetDevice(reader), "choosing a GPU");
    for (int peer = 0; peer < gpus; ++peer) {
      if (peer == reader) continue;
      const cudaError_t e = cudaDeviceEnablePeerAccess(peer, 0);
      if (e != cudaErrorPeerAccessAlreadyEnabled) check(e, "letting GPUs read each other's memory");
      (void)cudaGetLastError();
    }
  }
  check(cudaSetDevice(before), "choosing a GPU");
}

std::uint64_t reserved_bytes(Device& d) {
  auto* gpu = dynamic_cast<GpuDevice*>(&d);
  return gpu ? gpu->memory().reserved_bytes() : 0;
}

std::uint64_t products_by_tiles(Device& d) {
  auto* gpu = dynamic_cast<GpuDevice*>(&d);
  return gpu ? gpu->blas().declined() : 0;
}

}  // namespace shardmark::cuda
