#pragma once
// How are 2-byte numbers widened and narrowed without changing places? Two vectors of neighbours at
// a time, one of which has the even ones: where it does not matter in which lane an element is. The
// loops of vectors.hpp, for bodies that are given two vectors where that is faster, else one.
#include "vectors.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

struct Two {
  Floats even, odd;
};
SHARDMARK_INLINE Two operator+(Two a, Two b) { return {a.even + b.even, a.odd + b.odd}; }
SHARDMARK_INLINE Two operator-(Two a, Two b) { return {a.even - b.even, a.odd - b.odd}; }
SHARDMARK_INLINE Two operator*(Two a, Two b) { return {a.even * b.even, a.odd * b.odd}; }
SHARDMARK_INLINE Two operator-(Two a, float b) { return {a.even - b, a.odd - b}; }
SHARDMARK_INLINE Two operator*(Two a, float b) { return {a.even * b, a.odd * b}; }
SHARDMARK_INLINE Two& operator+=(Two& a, Two b) { return a = a + b; }

// f of one vector, of each.
template <class F>
SHARDMARK_INLINE Floats each(Floats x, F&& f) {
  return f(x);
}
template <class F>
SHARDMARK_INLINE Two each(Two x, F&& f) {
  return {f(x.even), f(x.odd)};
}

// 2 * lanes neighbours; only Bf16 gains by their order.
template <class T>
SHARDMARK_INLINE Two load_two(const T* p) {
  return {load(p), load(p + lanes)};
}
SHARDMARK_INLINE Two load_two(const Bf16* p) {
  const Bits pairs = *reinterpret_cast<const LoosePairs*>(p);
  Two v{as_floats(pairs << 16), as_floats(pairs & 0xffff0000u)};
#if defined(__AVX512F__)
  asm("" : "+v"(v.even), "+v"(v.odd));  // else GCC widens again behind each comparison
#endif
  return v;
}
// Rounded as words_of() rounds.
SHARDMARK_INLINE Bits rounded_pairs(Two v) {
  const auto one = [](Floats x) {
    const Bits b = bits(x), rounded = b + 0x7fffu + (b >> 16 & 1u);
    return x != x ? b | 0x400000u : rounded;
  };
#if defined(__AVX512F__)
  // A kept half grows by one where the half that is dropped is more than a half of it, or just that
  // and the kept one is odd.
  if (__builtin_expect(_mm512_cmp_ps_mask(v.even, v.odd, _CMP_UNORD_Q) == 0, 1)) {
    constexpr __mmask32 odd = 0xaaaaaaaau;
    const Bits a = bits(v.even), b = bits(v.odd);
    const auto taken_together = [](Bits even, Bits of_odd) {
      return _mm512_mask_mov_epi16(reinterpret_cast<__m512i>(even), odd,
                                   reinterpret_cast<__m512i>(of_odd));
    };
    const __m512i kept = taken_together(a >> 16, b), dropped = taken_together(a, b << 16);
    constexpr int first_or_both_others = 0xf8;
    const __m512i decides =
        _mm512_ternarylogic_epi32(dropped, kept, _mm512_set1_epi16(1), first_or_both_others);
    return reinterpret_cast<Bits>(
        _mm512_mask_add_epi16(kept, _mm512_cmpgt_epu16_mask(decides, _mm512_set1_epi16(-0x8000)),
                              kept, _mm512_set1_epi16(1)));
  }
#endif
  return one(v.even) >> 16 | (one(v.odd) & 0xffff0000u);
}

// As Whole and First of vectors.hpp.
struct Pairs {
  SHARDMARK_INLINE Two from(const Bf16* p) const { return load_two(p); }
  SHARDMARK_INLINE void to(Bf16* p, Two v) const {
    *reinterpret_cast<LoosePairs*>(p) = rounded_pairs(v);
  }
};

// f(i, vector) for elements of T in [0, end): two vectors at a time, then one. Returns where what
// is left begins.
template <class T, class F>
SHARDMARK_INLINE std::size_t by_whole_vectors(std::size_t end, F&& f) {
  std::size_t i = 0;
  if constexpr (__is_same(T, Bf16)) {
    for (; i + 2 * lanes <= end; i += 2 * lanes) f(i, Pairs{});
  }
  for (; i + lanes <= end; i += lanes) f(i, Whole{});
  return i;
}
// The same, and for what is left.
template <class T, class F>
SHARDMARK_INLINE void by_pairs(std::size_t end, F&& f) {
  if (const std::size_t i = by_whole_vectors<T>(end, f); i < end) f(i, First{end - i});
}

// As sum_of_vectors.
template <class T, class F>
SHARDMARK_INLINE float sum_by_pairs(std::size_t n, F&& f) {
  if constexpr (__is_same(T, Bf16)) {
    Two s[2] = {};
    std::size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      s[0] += f(i, Pairs{});
      s[1] += f(i + 2 * lanes, Pairs{});
    }
    by_vectors(i, n, [&](std::size_t at, auto vector) { s[0].even += f(at, vector); });
    s[0] += s[1];
    return sum(s[0].even + s[0].odd);
  } else {
    return sum_of_vectors(n, f);
  }
}

// Adds to sums in f32, which stand in the elements' order.
template <class V>
SHARDMARK_INLINE void add_sums(float* to, V vector, Floats s) {
  vector.to(to, vector.from(to) + s);
}
SHARDMARK_INLINE void add_sums(float* to, Pairs, Two s) {
  constexpr int half = lanes / 2;
  static constexpr Lanes lower = lane_by_lane([](int i) { return i / 2 + i % 2 * lanes; }),
                         upper = lane_by_lane([](int i) { return half + i / 2 + i % 2 * lanes; });
  store(to, load(to) + __builtin_shuffle(s.even, s.odd, Ints(lower)));
  store(to + lanes, load(to + lanes) + __builtin_shuffle(s.even, s.odd, Ints(upper)));
}

}  // namespace shardmark::cpu::SHARDMARK_ISA
