#pragma once
// How does a kernel get onto a stream, and where does a block keep what its threads share? Kernels
// are written once, in CUDA's language; nvcc compiles them for a GPU, and a C++ compiler for the
// stand-in, whose grid runs them on the processor (standin/grid.hpp).
#include <cuda_runtime.h>

#include <tuple>
#include <utility>

#include "kernels/cuda/run.hpp"
#if defined(SHARDMARK_STANDIN)
#include "kernels/cuda/standin/runtime.hpp"
#endif

namespace shardmark::cuda {

// shared_bytes: of dynamic shared memory. An error of the launch itself is thrown here, one of the
// kernel when something waits for the stream.
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 blocks, dim3 threads, std::size_t shared_bytes,
            cudaStream_t stream, A&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "a kernel is launched with all of its arguments");
#if defined(SHARDMARK_STANDIN)
  check(standin::may_launch(stream), "launching a kernel");
  standin::enqueue(
      stream, {.name = "kernel"}, [=, values = std::tuple<P...>(std::forward<A>(arguments)...)] {
        standin::run_grid({blocks, threads, shared_bytes}, [&] { std::apply(kernel, values); });
      });
#else
  constexpr std::size_t without_asking = 48 << 10;
  if (shared_bytes > without_asking)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes)),
          "asking for shared memory");
  cudaLaunchConfig_t how{};
  how.gridDim = blocks;
  how.blockDim = threads;
  how.dynamicSmemBytes = shared_bytes;
  how.stream = stream;
  check(cudaLaunchKernelEx(&how, kernel, static_cast<P>(std::forward<A>(arguments))...),
        "launching a kernel");
#endif
}

// The dynamic shared memory of the block, on a multiple of 128 bytes.
template <class T>
__device__ inline T* dynamic_shared() {
#if defined(SHARDMARK_STANDIN)
  return static_cast<T*>(standin::here()->block->dynamic);
#else
  extern __shared__ __align__(128) unsigned char memory[];
  return reinterpret_cast<T*>(memory);
#endif
}

// An array for `__shared__`: as a plain one, and the stand-in makes it NaN before each block.
template <class T, int n>
struct SharedArray {
  T at[n];
#if defined(SHARDMARK_STANDIN)
  SharedArray() { standin::poisoned_before_each_block(at, sizeof at); }
#endif
  __device__ T& operator[](unsigned i) { return at[i]; }
  __device__ const T& operator[](unsigned i) const { return at[i]; }
};

}  // namespace shardmark::cuda
