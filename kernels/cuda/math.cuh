#pragma once
// What do activations and their slopes compute, a number at a time? In f32 with the GPU's own
// exponential: to 2e-6 of 1 plus the result.
#include <cuda_runtime.h>

namespace shardmark::cuda {

// Where the comparison is false, as for NaN, x.
__device__ inline float within(float least, float x, float most) {
  const float from_below = least > x ? least : x;
  return most < from_below ? most : from_below;
}
__device__ inline float logistic_of_minus(float x) { return __fdividef(1.0f, 1.0f + __expf(x)); }

// gelu(x) = x (1 + tanh u) / 2 = x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3). Beyond +-10
// the gate is 1, or less than 2^-125; -infinity gives next to 0, its limit.
struct GeluOf {
  __device__ static float gate(float x) {
    return logistic_of_minus(x * (x * x * -0.0713548163f - 1.595769122f));
  }
  __device__ static float value(float x) {
    return (-10.0f > x ? -10.0f : x) * gate(within(-10, x, 10));
  }
  __device__ static float slope(float x) {
    const float at = within(-10, x, 10), s = gate(at);
    return s + (s - s * s) * (at * (at * at * 0.2140644489f + 1.595769122f));
  }
};

// silu(x) = x / (1 + e^-x).
struct SiluOf {
  __device__ static float gate(float x) { return logistic_of_minus(-within(-87, x, 87)); }
  __device__ static float value(float x) { return (-87.0f > x ? -87.0f : x) * gate(x); }
  __device__ static float slope(float x) {
    const float s = gate(x);
    return s + (s - s * s) * within(-87, x, 87);
  }
};

}  // namespace shardmark::cuda
