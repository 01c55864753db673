#pragma once
// How do the threads of a block agree on a sum? Within warps, then over the warps in their order: it
// depends on the number of threads alone, and every thread has it.
#include "kernels/cuda/launch.hpp"

namespace shardmark::cuda {

constexpr int most_warps = 32;
constexpr unsigned whole_warp = 0xffffffffu;

// of_warp: shared, most_warps * n.
template <int n, class F>
__device__ void over_block(float (&x)[n], float* of_warp, F f) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (int apart = 16; apart > 0; apart /= 2) {
#pragma unroll
    for (int i = 0; i < n; ++i) x[i] = f(x[i], __shfl_xor_sync(whole_warp, x[i], apart));
  }
  if (warps == 1) return;
  if (lane == 0) {
    for (int i = 0; i < n; ++i) of_warp[warp * n + i] = x[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < n; ++i) {
    x[i] = of_warp[i];
    for (unsigned w = 1; w < warps; ++w) x[i] = f(x[i], of_warp[w * n + i]);
  }
  __syncthreads();
}
struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Larger {
  __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};
__device__ inline float block_sum(float x, float* of_warp) {
  float one[1] = {x};
  over_block(one, of_warp, Plus());
  return one[0];
}
__device__ inline float block_max(float x, float* of_warp) {
  float one[1] = {x};
  over_block(one, of_warp, Larger());
  return one[0];
}

}  // namespace shardmark::cuda
