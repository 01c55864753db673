#pragma once
// How are 2^x, e^x, log x and 1 / x computed, a vector at a time? By polynomials, to a few parts in
// 10^7.
#include "simd.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

// Adding 1.5 * 2^23 rounds to a whole number n and leaves it in the low bits of the sum;
// times_power_of_two puts it into the exponent of p, which holds where the result is a normal
// number.
inline constexpr float magic = 12582912.0f;
SHARDMARK_INLINE Floats times_power_of_two(Floats p, Floats n_plus_magic) {
  return as_floats(bits(p) + (bits(n_plus_magic) << 23));
}

// A constant that stays in its register: left alone, the compiler reads it again from memory for
// each use, and a loop of polynomials is then bound by loads.
SHARDMARK_INLINE Floats kept(float x) {
  Floats v = all(x);
#if defined(__AVX512F__)
  asm("" : "+v"(v));
#elif defined(__aarch64__)
  asm("" : "+w"(v));
#endif
  return v;
}

// 2^x by a minimax polynomial of degree 5 on [-1/2, 1/2], relative error < 3e-7.
struct Exp2 {
  Floats shift = kept(magic), c5 = kept(1.327647198e-03f), c4 = kept(9.675541334e-03f),
         c3 = kept(5.550713274e-02f), c2 = kept(2.402211972e-01f), c1 = kept(6.931469671e-01f),
         c0 = kept(1.0f), lowest = kept(-126.0f);

  // For x in [-126, 127.5].
  SHARDMARK_INLINE Floats within(Floats x) const {
    const Floats shifted = x + shift;
    const Floats f = x - (shifted - shift);
    Floats p = f * c5 + c4;
    p = p * f + c3;
    p = p * f + c2;
    p = p * f + c1;
    p = p * f + c0;
    return times_power_of_two(p, shifted);
  }
  // For x <= 0; below -126, 0.
  SHARDMARK_INLINE Floats below(Floats x) const {
    const Floats p = within(x);
    return x < lowest ? Floats{} : p;
  }
};

// log x for normal x > 0, relative error < 3e-7 away from 1: x = 2^e m with m in [2/3, 4/3), and
// the series of log m = 2 atanh((m - 1) / (m + 1)).
SHARDMARK_INLINE Floats log(Floats x) {
  const Ints e = reinterpret_cast<Ints>(bits(x) - 0x3f2aaaabu) >> 23;
  const Floats m = as_floats(bits(x) - (reinterpret_cast<Bits>(e) << 23));
  const Floats s = (m - 1.0f) / (m + 1.0f), q = s * s;
  const Floats series =
      (((q * 0.2222222222f + 0.2857142857f) * q + 0.4f) * q + 0.6666666667f) * q + 2.0f;
  return __builtin_convertvector(e, Floats) * 0.6931471806f + s * series;
}

// 1 / x for |x| in [2^-126, 2^126]. AVX-512 begins with 14 bits, and one step of Newton's method
// makes 23 of them: that is several times faster than dividing.
SHARDMARK_INLINE Floats inverse(Floats x) {
#if defined(__AVX512F__)
  const Floats r = _mm512_maskz_rcp14_ps(0xffff, x);
  return r + r * (1.0f - x * r);
#else
  return 1.0f / x;
#endif
}

// e^x, relative error < 3e-7 where e^x is a normal number, 0 below; infinite above, NaN for NaN. ln
// 2 is taken in two parts (Cody and Waite 1980), the first with few enough bits for n * first to be
// exact.
SHARDMARK_INLINE Floats exp(Floats x) {
  const Floats shifted = x * 1.442695041f + magic;
  const Floats n = shifted - magic;
  Floats f = x - n * 0.693359375f;
  f = f + n * 2.12194440e-4f;
  Floats p = f * 1.383684598e-03f + 8.374815804e-03f;
  p = p * f + 4.166822557e-02f;
  p = p * f + 1.666642017e-01f;
  p = p * f + 4.999999208e-01f;
  p = p * f + 1.000000036f;
  p = p * f + 1.0f;
  p = times_power_of_two(p, shifted);
  p = x < -87.33654f ? Floats{} : p;
  return x < 88.7228f ? p : x + __builtin_inff();
}

}  // namespace shardmark::cpu::SHARDMARK_ISA
