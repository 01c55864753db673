#pragma once
// How does a product get to cuBLASLt? Finding an algorithm takes a tenth of a millisecond, so each
// is kept with its descriptors: a product that was met before costs a search in a small tree.
#include <cublasLt.h>

#include <map>
#include <memory>

#include "kernels/cuda/run.hpp"

namespace shardmark::cuda {

// Bytes of scratch for a product on a GPU of this compute capability: what NVIDIA recommends, but
// no more than the split sums of so small a result could use.
std::size_t product_scratch(const Matmul&, int major);

// Of one GPU; one thread at a time.
class Blas {
 public:
  Blas();  // of the current GPU
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  std::size_t scratch_bytes(const Matmul& o) const { return product_scratch(o, major_); }
  // Enqueues a checked product; false where cuBLASLt has no algorithm for it.
  bool multiply(const Matmul&, const Launch&);

 private:
  struct Key;
  struct Plan;
  Plan& plan(const Matmul&, bool tf32);

  cublasLtHandle_t handle_ = nullptr;
  int major_ = 0;  // compute capability
  std::map<Key, Plan> plans_;
};

// A product by our own tiles: any shape, type and address, for what cuBLASLt cannot do in one call.
void multiply_by_tiles(const Matmul&, const Launch&);

}  // namespace shardmark::cuda
