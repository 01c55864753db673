#pragma once
// What does the language of kernels look like to a C++ compiler? Words, positions, waits and
// intrinsics, as far as shardmark's kernels use them, over the stand-in's grid.
#include <cuda_runtime_api.h>

#include <atomic>
#include <bit>
#include <cmath>

#include "kernels/cuda/standin/grid.hpp"

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __shared__ static thread_local
#define threadIdx (::shardmark::standin::here()->thread)
#define blockIdx (::shardmark::standin::here()->block->index)
#define blockDim (::shardmark::standin::here()->block->threads)
#define gridDim (::shardmark::standin::here()->block->blocks)
constexpr int warpSize = 32;

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }

inline void __syncthreads() { shardmark::standin::wait_for_block(); }
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  shardmark::standin::wait_for_warp(mask, nullptr, nullptr, "__syncwarp");
}
// Lanes talk within groups of `width`; what would come from outside of the group is their own.
template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = warpSize) {
  const int lane = static_cast<int>(shardmark::standin::lane());
  const int first = lane / width * width;
  return shardmark::standin::shuffled(mask, value, first + (from & (width - 1)), "__shfl_sync");
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize) {
  const int lane = static_cast<int>(shardmark::standin::lane()), from = lane ^ bits;
  return shardmark::standin::shuffled(mask, value, from / width > lane / width ? lane : from,
                                      "__shfl_xor_sync");
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
  const int lane = static_cast<int>(shardmark::standin::lane());
  const int from = lane + static_cast<int>(by);
  return shardmark::standin::shuffled(mask, value, from / width > lane / width ? lane : from,
                                      "__shfl_down_sync");
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
  const int lane = static_cast<int>(shardmark::standin::lane());
  const int from = lane - static_cast<int>(by);
  return shardmark::standin::shuffled(mask, value, from < lane / width * width ? lane : from,
                                      "__shfl_up_sync");
}
inline unsigned __ballot_sync(unsigned mask, bool vote) {
  unsigned mine = vote ? 1u << shardmark::standin::lane() : 0;
  shardmark::standin::wait_for_warp(
      mask, &mine,
      [](void* const* of_lane, unsigned) {
        unsigned all = 0;
        for (int i = 0; i < 32; ++i) all |= of_lane[i] ? *static_cast<unsigned*>(of_lane[i]) : 0;
        for (int i = 0; i < 32; ++i)
          if (of_lane[i]) *static_cast<unsigned*>(of_lane[i]) = all;
      },
      "a vote");
  return mine;
}
inline bool __any_sync(unsigned mask, bool vote) { return __ballot_sync(mask, vote) != 0; }
inline bool __all_sync(unsigned mask, bool vote) { return __ballot_sync(mask, !vote) == 0; }
template <class T>
T atomicAdd(T* at, T value) {  // streams run beside each other
  return std::atomic_ref<T>(*at).fetch_add(value);
}

template <class T>
T __ldg(const T* p) {
  return *p;
}
template <class T>
T __ldcs(const T* p) {
  return *p;
}
template <class T>
void __stcs(T* p, T value) {
  *p = value;
}

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
