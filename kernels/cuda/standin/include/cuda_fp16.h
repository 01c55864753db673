#pragma once
// The stand-in's f16: what its matrix fragments are made of, and conversions to nearest even.
#include <cuda_runtime.h>

struct __half {
  std::uint16_t bits;
};
using half = __half;
inline float __half2float(__half h) {
  const std::uint32_t sign = (h.bits & 0x8000u) << 16, magnitude = h.bits & 0x7fffu;
  const auto scaled = static_cast<float>(magnitude);  // a subnormal one is so many times 2^-24
  if (magnitude < 0x400u)
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled * 0x1p-24f));
  const std::uint32_t top = magnitude >= 0x7c00u ? 0x70000000u : 0x38000000u;
  return std::bit_cast<float>(sign | ((magnitude << 13) + top));
}
inline __half __float2half_rn(float x) {
  const auto b = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = b >> 16 & 0x8000u, magnitude = b & 0x7fffffffu;
  std::uint32_t h = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  if (magnitude < 0x38800000u)  // subnormal: the sum's low bits are the rounded multiple of 2^-24
    h = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  if (magnitude >= 0x477ff000u) h = 0x7c00u;
  if (magnitude > 0x7f800000u) h = 0x7e00u;
  return {static_cast<std::uint16_t>(sign | h)};
}
inline __half __float2half(float x) { return __float2half_rn(x); }
