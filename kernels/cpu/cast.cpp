// How does a float become a narrower or a wider one? Rounding is to nearest, ties to even (IEEE
// 754), in whole numbers, so that every instruction set gives the same bits. The loops are plain:
// the compiler makes vectors of them.
#include "kernels.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

namespace {

SHARDMARK_INLINE std::uint32_t bits_of(float x) {
  std::uint32_t b;
  __builtin_memcpy(&b, &x, 4);
  return b;
}
SHARDMARK_INLINE float float_of(std::uint32_t b) {
  float x;
  __builtin_memcpy(&x, &b, 4);
  return x;
}

// Half precision keeps 10 bits of the 23. Normal: rebias the exponent and round by adding just
// under half a unit, plus the last kept bit. Subnormal: adding 0.5 in float leaves the rounded
// multiple of 2^-24 in the low bits.
SHARDMARK_INLINE std::uint16_t to_f16(float x) {
  const std::uint32_t b = bits_of(x), sign = b >> 16 & 0x8000u, magnitude = b & 0x7fffffffu;
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  const std::uint32_t subnormal = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
  std::uint32_t h = magnitude < 0x38800000u ? subnormal : normal;
  h = magnitude >= 0x477ff000u ? 0x7c00u : h;  // rounds to 2^16 or more: infinite
  h = magnitude > 0x7f800000u ? 0x7e00u : h;
  return static_cast<std::uint16_t>(sign | h);
}
SHARDMARK_INLINE float from_f16(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16, magnitude = h & 0x7fffu;
  const std::uint32_t normal = (magnitude << 13) + 0x38000000u;
  const std::uint32_t subnormal = bits_of(float_of(0x3f000000u + magnitude) - 0.5f);
  std::uint32_t b = magnitude < 0x400u ? subnormal : normal;
  b = magnitude >= 0x7c00u ? (magnitude << 13) + 0x70000000u : b;
  return float_of(sign | b);
}

}  // namespace

void widen_bf16(const std::uint16_t* from, float* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = float_of(static_cast<std::uint32_t>(from[i]) << 16);
}
void narrow_bf16(const float* from, std::uint16_t* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t b = bits_of(from[i]);
    const std::uint32_t rounded = (b + 0x7fffu + (b >> 16 & 1u)) >> 16;
    const std::uint32_t quiet = b >> 16 | 0x40u;  // a NaN must not round to infinity
    to[i] = static_cast<std::uint16_t>((b & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
  }
}
void widen_f16(const std::uint16_t* from, float* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = from_f16(from[i]);
}
void narrow_f16(const float* from, std::uint16_t* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = to_f16(from[i]);
}
void widen_f64(const float* from, double* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<double>(from[i]);
}
void narrow_f64(const double* from, float* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

}  // namespace shardmark::cpu::SHARDMARK_ISA
