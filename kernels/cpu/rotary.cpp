// How do the pairs of a head turn with their position (Su et al. 2021)? Compiled once for each
// instruction set.
#include "kernels.hpp"
#include "vectors.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

template <class T>
void rotary(const RotaryRows<T>& a) {
  const std::size_t half = a.head_dim / 2;
  const float direction = a.back ? -1.0f : 1.0f;
  std::size_t position = a.first % a.sequence;
  for (std::size_t r = 0; r < a.rows; ++r) {
    const float *cosines = a.table + position * a.head_dim, *sines = cosines + half;
    for (std::size_t h = 0; h < a.heads; ++h) {
      T *x = a.x + r * a.stride + h * a.head_dim, *y = x + half;
      by_vectors(0, half, [&](std::size_t i, auto vector) {
        const Floats c = vector.from(cosines + i), s = vector.from(sines + i) * direction;
        const Floats first = vector.from(x + i), second = vector.from(y + i);
        vector.to(x + i, first * c - second * s);
        vector.to(y + i, first * s + second * c);
      });
    }
    if (++position == a.sequence) position = 0;
  }
}
template void rotary(const RotaryRows<float>&);
template void rotary(const RotaryRows<Bf16>&);
template void rotary(const RotaryRows<F16>&);

}  // namespace shardmark::cpu::SHARDMARK_ISA
