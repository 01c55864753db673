// What is a SwiGLU (Shazeer 2020), and what flows back through it? Compiled once for each
// instruction set.
#include "kernels.hpp"
#include "pairs.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

namespace {

// silu(x) = x / (1 + e^-x).
struct Silu {
  Exp2 exp2;
  Floats minus_log2_of_e = kept(-1.442695041f), most = kept(87.0f), least = kept(-87.0f);

  // The logistic function of x within +-87, beyond which it is 1, or less than 2^-125.
  SHARDMARK_INLINE Floats gate(Floats x) const {
    return inverse(1.0f + exp2.within(x * minus_log2_of_e));
  }
  SHARDMARK_INLINE Floats value(Floats x) const {
    const Floats from_below = maximum(least, x);  // so that -infinity gives next to 0, its limit
    return from_below * gate(minimum(most, from_below));
  }
  // d/dx: s + x s (1 - s), where s is the gate.
  SHARDMARK_INLINE Floats slope(Floats x) const {
    const Floats at = minimum(most, maximum(least, x)), s = gate(at);
    return s + (s - s * s) * at;
  }
};

}  // namespace

template <class T>
void swiglu(const T* x, T* out, std::size_t rows, std::size_t columns) {
  const Silu silu;
  for (std::size_t r = 0; r < rows; ++r, x += 2 * columns, out += columns) {
    by_pairs<T>(columns, [&](std::size_t i, auto vector) {
      const auto bent = each(vector.from(x + i), [&](Floats v) { return silu.value(v); });
      vector.to(out + i, bent * vector.from(x + columns + i));
    });
  }
}
template void swiglu(const float*, float*, std::size_t, std::size_t);
template void swiglu(const Bf16*, Bf16*, std::size_t, std::size_t);
template void swiglu(const F16*, F16*, std::size_t, std::size_t);

template <class T>
void swiglu_backward(const T* x, const T* grad, T* dx, std::size_t rows, std::size_t columns) {
  const Silu silu;
  for (std::size_t r = 0; r < rows; ++r, x += 2 * columns, dx += 2 * columns, grad += columns) {
    by_pairs<T>(columns, [&](std::size_t i, auto vector) {
      const auto g = vector.from(grad + i), gate = vector.from(x + i);
      const auto slope = each(gate, [&](Floats v) { return silu.slope(v); });
      const auto value = each(gate, [&](Floats v) { return silu.value(v); });
      vector.to(dx + i, g * vector.from(x + columns + i) * slope);
      vector.to(dx + columns + i, g * value);
    });
  }
}
template void swiglu_backward(const float*, const float*, float*, std::size_t, std::size_t);
template void swiglu_backward(const Bf16*, const Bf16*, Bf16*, std::size_t, std::size_t);
template void swiglu_backward(const F16*, const F16*, F16*, std::size_t, std::size_t);

}  // namespace shardmark::cpu::SHARDMARK_ISA
