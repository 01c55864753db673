// How does AdamW change one weight? Compiled without contraction of a * b + c: an element gets the
// same bits wherever it stands, and in every instruction set. What does not fill a vector runs
// through the same operations, padded.
#include "kernels.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

namespace {

struct Moments {
  Floats weight, first, second;
};

SHARDMARK_INLINE Moments step(Moments at, Floats grad, const AdamStep& s) {
  const Floats g = grad * s.coefficient;
  at.first = at.first * s.beta1 + g * (1.0f - s.beta1);
  at.second = at.second * s.beta2 + (g * g) * (1.0f - s.beta2);
  const Floats root = square_root(at.second * s.correct2) + s.epsilon;
  at.weight = at.weight - ((at.first * s.correct1) / root + at.weight * s.decay) * s.lr;
  return at;
}

}  // namespace

// Four or five streams in order are what the machine itself sees coming: asking ahead by hand makes
// it slower.
template <class T>
void adamw(T* weight, float* master, const T* grad, float* first, float* second, std::size_t n,
           const AdamStep& with) {
  const AdamStep s = with;
  constexpr bool rounds = sizeof(T) < sizeof(float);
  constexpr std::size_t line = 16;
  std::size_t i = 0;
  for (; i + line <= n; i += line) {
#pragma GCC unroll 4
    for (std::size_t j = i; j < i + line; j += lanes) {
      const Moments m =
          step({load(master + j), load(first + j), load(second + j)}, load(grad + j), s);
      store(master + j, m.weight);
      store(first + j, m.first);
      store(second + j, m.second);
      if constexpr (rounds) store(weight + j, m.weight);
    }
  }
  for (; i < n; i += lanes) {
    const std::size_t rest = n - i < lanes ? n - i : lanes;
    const Moments m = step(
        {load_first(master + i, rest), load_first(first + i, rest), load_first(second + i, rest)},
        load_first(grad + i, rest), s);
    store_first(master + i, m.weight, rest);
    store_first(first + i, m.first, rest);
    store_first(second + i, m.second, rest);
    if constexpr (rounds) store_first(weight + i, m.weight, rest);
  }
}

#define SHARDMARK_INSTANTIATE(T) \
  template void adamw(T*, float*, const T*, float*, float*, std::size_t, const AdamStep&)
SHARDMARK_INSTANTIATE(float);
SHARDMARK_INSTANTIATE(Bf16);
SHARDMARK_INSTANTIATE(F16);

}  // namespace shardmark::cpu::SHARDMARK_ISA
