#pragma once
// How does an op get onto a stream? It is checked, and its kernels are enqueued; nothing waits.
#include "kernels/cuda/runtime.hpp"
#include "kernels/op.hpp"

namespace shardmark::cuda {

class Blas;  // matmul.hpp

// What kernels are launched with.
struct Launch {
  cudaStream_t stream = nullptr;
  Blas* blas = nullptr;
  int major = 8, multiprocessors = 1;  // of the GPU
  bool tf32 = false;
  // Of the stream: what sums in two passes keep between them. No ledger counts it, as with all that
  // a stream itself takes.
  double* partials = nullptr;
  static constexpr std::size_t most_partials = 4096;
};
class Partials {
 public:
  double* get() const { return static_cast<double*>(memory_.get()); }

 private:
  DeviceMemory memory_{Launch::most_partials * sizeof(double)};
};

void run(const Op&, const Launch&);
// Of the launch only what the GPU is counts.
std::size_t scratch_bytes(const Op&, const Launch&);

}  // namespace shardmark::cuda
