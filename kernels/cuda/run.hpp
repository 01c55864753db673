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
  int multiprocessors = 1;
  bool tf32 = false;
  // Of the stream: what sums in two passes keep between them. No ledger counts it, as with all that
  // a stream itself takes.
  double* partials = nullptr;
  static constexpr std::size_t most_partials = 4096;
};

void run(const Op&, const Launch&);
std::size_t scratch_bytes(const Op&, const Launch&);

}  // namespace shardmark::cuda
