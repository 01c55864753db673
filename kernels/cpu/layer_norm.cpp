// How is a row normalised, and what flows back through it (Ba et al. 2016)? A row stays in the
// first-level cache while it is read three times. Compiled once for each instruction set.
#include "kernels.hpp"
#include "pairs.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

namespace {

template <class T>
struct RowSum {  // of x[0, n), the mean subtracted first where it is squared
  const T* x;
  std::size_t n;

  float plain() const {
    Floats s[4] = {};
    std::size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      for (int j = 0; j < 4; j += 2) {
        const Two v = load_two(x + i + j * lanes);
        s[j] += v.even;
        s[j + 1] += v.odd;
      }
    }
    for (; i + lanes <= n; i += lanes) s[0] += load(x + i);
    if (i < n) s[1] += load_first(x + i, n - i);
    return sum((s[0] + s[1]) + (s[2] + s[3]));
  }
  float squared(float mean) const {
    Floats s[4] = {};
    std::size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      for (int j = 0; j < 4; j += 2) {
        const Two d = load_two(x + i + j * lanes) - mean;
        s[j] += d.even * d.even;
        s[j + 1] += d.odd * d.odd;
      }
    }
    for (; i + lanes <= n; i += lanes) {
      const Floats d = load(x + i) - mean;
      s[0] += d * d;
    }
    float rest = 0;
    for (; i < n; ++i) {
      const float d = load_one(x + i) - mean;
      rest += d * d;
    }
    return sum((s[0] + s[1]) + (s[2] + s[3])) + rest;
  }
};

}  // namespace

template <class T>
void layer_norm(const NormRows<T>& a) {
  const std::size_t w = a.width;
  for (std::size_t r = 0; r < a.rows; ++r) {
    const T* x = a.x + r * w;
    const RowSum<T> row{x, w};
    const float mean = row.plain() / static_cast<float>(w);
    const float rstd =
        1.0f / __builtin_sqrtf(row.squared(mean) / static_cast<float>(w) + a.epsilon);
    a.stats[2 * r] = mean;
    a.stats[2 * r + 1] = rstd;
    T* out = a.out + r * w;
    std::size_t i = by_whole_vectors<T>(w, [&](std::size_t at, auto vector) {
      const auto normalised = (vector.from(x + at) - mean) * rstd;
      vector.to(out + at, normalised * vector.from(a.gain + at) + vector.from(a.bias + at));
    });
    for (; i < w; ++i) {
      const float n = (load_one(x + i) - mean) * rstd;
      store_one(out + i, n * load_one(a.gain + i) + load_one(a.bias + i));
    }
  }
}

namespace {

struct RowMeans {  // of g = grad * gain, and of g times the normalised row
  float g, gx;
};

template <class T>
RowMeans means(const T* grad, const T* x, const T* gain, float mean, float rstd, std::size_t w) {
  Floats g[2] = {}, gx[2] = {};
  std::size_t i = 0;
  for (; i + 2 * lanes <= w; i += 2 * lanes) {
    const Two v = load_two(grad + i) * load_two(gain + i), d = load_two(x + i) - mean;
    g[0] += v.even;
    g[1] += v.odd;
    gx[0] += v.even * d.even;
    gx[1] += v.odd * d.odd;
  }
  float g_rest = 0, gx_rest = 0;
  for (; i < w; ++i) {
    const float v = load_one(grad + i) * load_one(gain + i);
    g_rest += v;
    gx_rest += v * (load_one(x + i) - mean);
  }
  const float n = static_cast<float>(w);
  return {(sum(g[0] + g[1]) + g_rest) / n, (sum(gx[0] + gx[1]) + gx_rest) * rstd / n};
}

constexpr std::size_t together = 4;  // rows: one load and store of dgain and dbias for so many

// Columns of one vector or two, from column i on, of `count` rows.
template <class T, class V>
SHARDMARK_INLINE void columns_backward(const NormRowsBackward<T>& a, std::size_t r,
                                       std::size_t count, std::size_t i, const RowMeans* m,
                                       V vector) {
  const auto gain = vector.from(a.gain + i);
  decltype(vector.from(a.gain)) gain_sum = {}, bias_sum = {};
  for (std::size_t j = 0; j < count; ++j) {
    const std::size_t at = (r + j) * a.width + i;
    const float mean = a.stats[2 * (r + j)], rstd = a.stats[2 * (r + j) + 1];
    const auto grad = vector.from(a.grad + at), x = (vector.from(a.x + at) - mean) * rstd;
    vector.to(a.dx + at, vector.from(a.dx + at) + (grad * gain - m[j].g - x * m[j].gx) * rstd);
    gain_sum += grad * x;
    bias_sum += grad;
  }
  if (a.dgain) add_sums(a.dgain + i, vector, gain_sum);
  if (a.dbias) add_sums(a.dbias + i, vector, bias_sum);
}
template <class T>
void column_backward(const NormRowsBackward<T>& a, std::size_t r, std::size_t count, std::size_t i,
                     const RowMeans* m) {
  float gain_sum = 0, bias_sum = 0;
  const float gain = load_one(a.gain + i);
  for (std::size_t j = 0; j < count; ++j) {
    const std::size_t at = (r + j) * a.width + i;
    const float mean = a.stats[2 * (r + j)], rstd = a.stats[2 * (r + j) + 1];
    const float grad = load_one(a.grad + at), x = (load_one(a.x + at) - mean) * rstd;
    store_one(a.dx + at, load_one(a.dx + at) + (grad * gain - m[j].g - x * m[j].gx) * rstd);
    gain_sum += grad * x;
    bias_sum += grad;
  }
  if (a.dgain) a.dgain[i] += gain_sum;
  if (a.dbias) a.dbias[i] += bias_sum;
}

}  // namespace

template <class T>
void layer_norm_backward(const NormRowsBackward<T>& a) {
  const std::size_t w = a.width;
  for (std::size_t r = 0; r < a.rows; r += together) {
    const std::size_t count = a.rows - r < together ? a.rows - r : together;
    RowMeans m[together] = {};
    for (std::size_t j = 0; j < count; ++j) {
      const float* stats = a.stats + 2 * (r + j);
      m[j] = means(a.grad + (r + j) * w, a.x + (r + j) * w, a.gain, stats[0], stats[1], w);
    }
    std::size_t i = by_whole_vectors<T>(w, [&](std::size_t at, auto vector) {
      if (count == together) {
        columns_backward(a, r, together, at, m, vector);
      } else {
        columns_backward(a, r, count, at, m, vector);
      }
    });
    for (; i < w; ++i) column_backward(a, r, count, i, m);
  }
}

#define SHARDMARK_INSTANTIATE(T)                \
  template void layer_norm(const NormRows<T>&); \
  template void layer_norm_backward(const NormRowsBackward<T>&)
SHARDMARK_INSTANTIATE(float);
SHARDMARK_INSTANTIATE(Bf16);
SHARDMARK_INSTANTIATE(F16);

}  // namespace shardmark::cpu::SHARDMARK_ISA
