#pragma once
// What is a vector here? GCC's vector extensions, as wide as the instruction set this file is
// compiled for; everything lives in that set's own namespace, and no standard header is included:
// an inline function compiled for AVX-512 must never be the one the linker keeps for the rest of
// the program.
#include <cstddef>
#include <cstdint>
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include "kernels/half.hpp"

#define SHARDMARK_INLINE inline __attribute__((always_inline))

namespace shardmark::cpu::SHARDMARK_ISA {

#if defined(__AVX512F__)
inline constexpr int lanes = 16;
#elif defined(__AVX2__)
inline constexpr int lanes = 8;
#else
inline constexpr int lanes = 4;
#endif

typedef float Floats __attribute__((vector_size(lanes * 4)));
typedef std::int32_t Ints __attribute__((vector_size(lanes * 4)));
typedef std::uint32_t Bits __attribute__((vector_size(lanes * 4)));
typedef double Doubles __attribute__((vector_size(lanes * 4)));  // half as many
typedef float Half __attribute__((vector_size(lanes * 2)));      // the floats that fit one Doubles
typedef std::uint16_t Words __attribute__((vector_size(lanes * 2)));
typedef float LooseFloats __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
typedef double LooseDoubles __attribute__((vector_size(lanes * 4), aligned(8), may_alias));
typedef std::int32_t LooseInts __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
typedef float LooseHalf __attribute__((vector_size(lanes * 2), aligned(4), may_alias));
typedef std::uint32_t LoosePairs __attribute__((vector_size(lanes * 4), aligned(2), may_alias));
typedef std::uint16_t LooseWords __attribute__((vector_size(lanes * 2), aligned(2), may_alias));

SHARDMARK_INLINE Floats load(const float* p) { return *reinterpret_cast<const LooseFloats*>(p); }
SHARDMARK_INLINE void store(float* p, Floats v) { *reinterpret_cast<LooseFloats*>(p) = v; }
SHARDMARK_INLINE Floats all(float x) {
  return x - Floats{};
}  // x - 0 is x for every x, so it costs nothing

// One number a lane, known when compiling: which lane goes where.
struct Lanes {
  alignas(64) std::int32_t at[lanes];
  SHARDMARK_INLINE operator Ints() const { return *reinterpret_cast<const LooseInts*>(at); }
};
template <class F>
constexpr Lanes lane_by_lane(F f) {
  Lanes l{};
  for (int i = 0; i < lanes; ++i) l.at[i] = f(i);
  return l;
}

// Where the comparison is false, as for NaN, the second: maximum(x, y) keeps a NaN in y.
SHARDMARK_INLINE Floats maximum(Floats x, Floats y) { return x > y ? x : y; }
SHARDMARK_INLINE Floats minimum(Floats x, Floats y) { return x < y ? x : y; }
SHARDMARK_INLINE Bits bits(Floats x) { return reinterpret_cast<Bits>(x); }
SHARDMARK_INLINE Floats as_floats(Bits x) { return reinterpret_cast<Floats>(x); }
// By name where it is one instruction: GCC converts the halves of a vector apart.
SHARDMARK_INLINE Bits widened(Words x) {
#if defined(__AVX512F__)
  return reinterpret_cast<Bits>(_mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(x)));
#elif defined(__AVX2__)
  return reinterpret_cast<Bits>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(x)));
#else
  return __builtin_convertvector(x, Bits);
#endif
}
#if defined(__AVX512F__)
inline constexpr Lanes odd_words =
    lane_by_lane([](int i) { return i < 8 ? (4 * i + 1) | (4 * i + 3) << 16 : 0; });
#endif
SHARDMARK_INLINE Words upper_halves(Bits x) {
#if defined(__AVX512F__)
  const __m512i first = _mm512_maskz_permutexvar_epi16(
      0xffffffff, reinterpret_cast<__m512i>(Ints(odd_words)), reinterpret_cast<__m512i>(x));
  Words w;
  __builtin_memcpy(&w, &first, sizeof w);
  return w;
#else
  return __builtin_convertvector(x >> 16, Words);
#endif
}

// A 2-byte number is a float while it is computed with. Rounding is to nearest, ties to even (IEEE
// 754), and a NaN keeps its upper bits and becomes a quiet one: the same bits from every set.
SHARDMARK_INLINE Floats floats_of(Words x, Bf16) { return as_floats(widened(x) << 16); }
SHARDMARK_INLINE Words words_of(Floats x, Bf16) {
  const Bits b = bits(x);
  const Bits rounded = b + 0x7fffu + (b >> 16 & 1u);
  return upper_halves(x != x ? b | 0x400000u : rounded);
}
#if defined(__AVX512F__)
SHARDMARK_INLINE Floats floats_of(Words x, F16) {
  return _mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(x));
}
SHARDMARK_INLINE Words words_of(Floats x, F16) {
  return reinterpret_cast<Words>(_mm512_maskz_cvtps_ph(0xffff, x, _MM_FROUND_TO_NEAREST_INT));
}
#elif defined(__F16C__) && defined(__AVX2__)
SHARDMARK_INLINE Floats floats_of(Words x, F16) {
  return _mm256_cvtph_ps(reinterpret_cast<__m128i>(x));
}
SHARDMARK_INLINE Words words_of(Floats x, F16) {
  return reinterpret_cast<Words>(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
#else
// Half precision keeps 10 bits of the 23. Normal: rebias the exponent and round by adding just
// under half a unit, plus the last kept bit. Subnormal: adding 0.5 in float leaves the rounded
// multiple of 2^-24 in the low bits.
SHARDMARK_INLINE Words words_of(Floats x, F16) {
  const Bits b = bits(x), sign = b >> 16 & 0x8000u, magnitude = b & 0x7fffffffu;
  const Bits normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  const Bits subnormal = bits(as_floats(magnitude) + 0.5f) - 0x3f000000u;
  Bits h = magnitude < 0x38800000u ? subnormal : normal;
  h = magnitude >= 0x477ff000u ? Bits{} + 0x7c00u : h;  // rounds to 2^16 or more: infinite
  h = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x1ffu) : h;
  return __builtin_convertvector(sign | h, Words);
}
SHARDMARK_INLINE Floats floats_of(Words x, F16) {
  const Bits h = widened(x), sign = (h & 0x8000u) << 16, magnitude = h & 0x7fffu;
  const Bits normal = (magnitude << 13) + 0x38000000u;
  const Bits subnormal = bits(as_floats(magnitude + 0x3f000000u) - 0.5f);
  Bits b = magnitude < 0x400u ? subnormal : normal;
  b = magnitude >= 0x7c00u ? (magnitude << 13) + 0x70000000u : b;
  return as_floats(sign | (magnitude > 0x7c00u ? b | 0x400000u : b));
}
#endif

template <class T>
SHARDMARK_INLINE Floats load(const T* p) {
  return floats_of(*reinterpret_cast<const LooseWords*>(p), T{});
}
template <class T>
SHARDMARK_INLINE void store(T* p, Floats v) {
  *reinterpret_cast<LooseWords*>(p) = words_of(v, T{});
}

// The first n lanes; the others are 0.
template <class T>
SHARDMARK_INLINE Floats load_first(const T* p, std::size_t n) {
  alignas(64) T padded[lanes] = {};
  for (std::size_t i = 0; i < n; ++i) padded[i] = p[i];
  return load(padded);
}
SHARDMARK_INLINE void store_first(float* p, Floats v, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) p[i] = v[i];
}
template <class T>
SHARDMARK_INLINE void store_first(T* p, Floats v, std::size_t n) {
  const Words w = words_of(v, T{});
  for (std::size_t i = 0; i < n; ++i) p[i] = {w[i]};
}

// One alone.
SHARDMARK_INLINE float load_one(const float* p) { return *p; }
template <class T>
SHARDMARK_INLINE float load_one(const T* p) {
  return floats_of(Words{p->bits}, T{})[0];
}
SHARDMARK_INLINE void store_one(float* p, float x) { *p = x; }
template <class T>
SHARDMARK_INLINE void store_one(T* p, float x) {
  p->bits = words_of(Floats{x}, T{})[0];
}

// The lanes changed places in pairs `apart` from each other.
template <int apart>
inline constexpr Lanes pairs = lane_by_lane([](int i) { return i ^ apart; });

SHARDMARK_INLINE Floats shuffled(Floats v, Ints from) { return __builtin_shuffle(v, from); }

SHARDMARK_INLINE float sum(Floats v) {
#if defined(__AVX512F__)
  v += shuffled(v, pairs<8>);
#endif
#if defined(__AVX2__)
  v += shuffled(v, pairs<4>);
#endif
  v += shuffled(v, pairs<2>);
  v += shuffled(v, pairs<1>);
  return v[0];
}
SHARDMARK_INLINE float largest(Floats v) {
#if defined(__AVX512F__)
  v = maximum(v, shuffled(v, pairs<8>));
#endif
#if defined(__AVX2__)
  v = maximum(v, shuffled(v, pairs<4>));
#endif
  v = maximum(v, shuffled(v, pairs<2>));
  v = maximum(v, shuffled(v, pairs<1>));
  return v[0];
}

SHARDMARK_INLINE Floats square_root(Floats v) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_ps(0xffff, v);
#elif defined(__AVX2__)
  return _mm256_sqrt_ps(v);
#elif defined(__SSE2__)
  return _mm_sqrt_ps(v);
#elif defined(__aarch64__)
  return vsqrtq_f32(v);
#else
  Floats r;
  for (int i = 0; i < lanes; ++i) r[i] = __builtin_sqrtf(v[i]);
  return r;
#endif
}

// Stores past the caches, where the machine can; p stands on a whole vector. fence() orders them
// before what follows.
SHARDMARK_INLINE void stream(float* p, Floats v) {
#if defined(__AVX512F__)
  _mm512_stream_ps(p, v);
#elif defined(__AVX2__)
  _mm256_stream_ps(p, v);
#elif defined(__SSE2__)
  _mm_stream_ps(p, v);
#else
  store(p, v);
#endif
}
template <class T>
SHARDMARK_INLINE void stream(T* p, Floats v) {
  const Words w = words_of(v, T{});
#if defined(__AVX512F__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(w));
#elif defined(__AVX2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), reinterpret_cast<__m128i>(w));
#elif defined(__SSE2__) && defined(__x86_64__)
  _mm_stream_si64(reinterpret_cast<long long*>(p), reinterpret_cast<long long>(w));
#else
  *reinterpret_cast<LooseWords*>(p) = w;
#endif
}
SHARDMARK_INLINE void fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}
// Memory that will be read soon, into the second level: with several streams that is faster than
// into the first.
SHARDMARK_INLINE void prefetch(const void* p) { __builtin_prefetch(p, 0, 2); }

}  // namespace shardmark::cpu::SHARDMARK_ISA
