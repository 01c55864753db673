#pragma once
// What is an element of 2 bytes as an f32, and back? Rounded to the nearest, of two to the even one.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>

#include "kernels/half.hpp"

namespace shardmark::cuda {

__device__ inline float widened(float x) { return x; }
__device__ inline float widened(Bf16 x) { return __uint_as_float(unsigned{x.bits} << 16); }
__device__ inline float widened(F16 x) {
  __half h;
  memcpy(&h, &x, sizeof h);
  return __half2float(h);
}

template <class T>
__device__ inline T narrowed(float x) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else {
    T to;
    if constexpr (std::is_same_v<T, Bf16>) {
      const __nv_bfloat16 h = __float2bfloat16_rn(x);
      memcpy(&to, &h, sizeof to);
    } else {
      const __half h = __float2half_rn(x);
      memcpy(&to, &h, sizeof to);
    }
    return to;
  }
}

}  // namespace shardmark::cuda
