// How is a row divided by its root mean square, and what flows back through that (Zhang and
// Sennrich 2019)? A row stays in the first-level cache while it is read twice. Compiled once for
// each instruction set.
#include "kernels.hpp"
#include "pairs.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

template <class T>
void rms_norm(const NormRows<T>& a) {
  const std::size_t w = a.width;
  for (std::size_t r = 0; r < a.rows; ++r) {
    const T* x = a.x + r * w;
    T* out = a.out + r * w;
    const float squares = sum_by_pairs<T>(w, [&](std::size_t i, auto vector) {
      const auto v = vector.from(x + i);
      return v * v;
    });
    const float rrms = 1.0f / __builtin_sqrtf(squares / static_cast<float>(w) + a.epsilon);
    a.stats[r] = rrms;
    by_pairs<T>(w, [&](std::size_t i, auto vector) {
      vector.to(out + i, vector.from(x + i) * rrms * vector.from(a.gain + i));
    });
  }
}
template void rms_norm(const NormRows<float>&);
template void rms_norm(const NormRows<Bf16>&);
template void rms_norm(const NormRows<F16>&);

namespace {

constexpr std::size_t together = 4;  // rows: one load and store of dgain for so many

// Columns of one vector or two, from column i on, of `count` rows. means: of grad * gain * the
// normalised row.
template <class T, class V>
SHARDMARK_INLINE void columns_backward(const NormRowsBackward<T>& a, std::size_t r,
                                       std::size_t count, std::size_t i, const float* means,
                                       V vector) {
  const auto gain = vector.from(a.gain + i);
  decltype(vector.from(a.gain)) gain_sum = {};
  for (std::size_t j = 0; j < count; ++j) {
    const std::size_t at = (r + j) * a.width + i;
    const float rrms = a.stats[r + j];
    const auto grad = vector.from(a.grad + at), x = vector.from(a.x + at) * rrms;
    vector.to(a.dx + at, vector.from(a.dx + at) + (grad * gain - x * means[j]) * rrms);
    gain_sum += grad * x;
  }
  if (a.dgain) add_sums(a.dgain + i, vector, gain_sum);
}

}  // namespace

template <class T>
void rms_norm_backward(const NormRowsBackward<T>& a) {
  const std::size_t w = a.width;
  for (std::size_t r = 0; r < a.rows; r += together) {
    const std::size_t count = a.rows - r < together ? a.rows - r : together;
    float means[together] = {};
    for (std::size_t j = 0; j < count; ++j) {
      const T *grad = a.grad + (r + j) * w, *x = a.x + (r + j) * w;
      means[j] = sum_by_pairs<T>(w,
                                 [&](std::size_t i, auto vector) {
                                   return vector.from(grad + i) * vector.from(a.gain + i) *
                                          vector.from(x + i);
                                 }) *
                 a.stats[r + j] / static_cast<float>(w);
    }
    by_pairs<T>(w, [&](std::size_t i, auto vector) {
      if (count == together) {
        columns_backward(a, r, together, i, means, vector);
      } else {
        columns_backward(a, r, count, i, means, vector);
      }
    });
  }
}
template void rms_norm_backward(const NormRowsBackward<float>&);
template void rms_norm_backward(const NormRowsBackward<Bf16>&);
template void rms_norm_backward(const NormRowsBackward<F16>&);

}  // namespace shardmark::cpu::SHARDMARK_ISA
