#pragma once
// The stand-in's bf16: what its matrix fragments are made of, and conversions to nearest even.
#include <cuda_runtime.h>

struct __nv_bfloat16 {
  std::uint16_t bits;
};
inline float __bfloat162float(__nv_bfloat16 h) {
  return std::bit_cast<float>(std::uint32_t{h.bits} << 16);
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  const auto b = std::bit_cast<std::uint32_t>(x);
  if (x != x) return {static_cast<std::uint16_t>(b >> 16 | 0x40u)};
  return {static_cast<std::uint16_t>((b + 0x7fffu + (b >> 16 & 1u)) >> 16)};
}
inline __nv_bfloat16 __float2bfloat16(float x) { return __float2bfloat16_rn(x); }
