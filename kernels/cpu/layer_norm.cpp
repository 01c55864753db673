// How is a row normalised, and what flows back through it (Ba et al. 2016)? A row stays in the
// first-level cache while it is read three times. Compiled once for each instruction set.
#include "kernels.hpp"

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
      for (int j = 0; j < 4; ++j) s[j] += load(x + i + j * lanes);
    }
    for (; i + lanes <= n; i += lanes) s[0] += load(x + i);
    if (i < n) s[1] += load_first(x + i, n - i);
    return sum((s[0] + s[1]) + (s[2] + s[3]));
  }
  float squared(float mean) const {
    Floats s[4] = {};
    std::size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      for (int j = 0; j < 4; ++j) {
        const Floats d = load(x + i + j * lanes) - mean;
        s[j] += d * d;
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
    std::size_t i = 0;
    for (; i + lanes <= w; i += lanes) {
      store(out + i, (load(x + i) - mean) * rstd * load(a.gain + i) + load(a.bias + i));
    }
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
    for (int j = 0; j < 2; ++j) {
      const Floats v = load(grad + i + j * lanes) * load(gain + i + j * lanes);
      g[j] += v;
      gx[j] += v * (load(x + i + j * lanes) - mean);
    }
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

// Columns [i, i + lanes) of `count` rows.
template <class T>
SHARDMARK_INLINE void columns_backward(const NormRowsBackward<T>& a, std::size_t r,
                                       std::size_t count, std::size_t i, const RowMeans* m) {
  Floats gain_sum = Floats{}, bias_sum = Floats{};
  const Floats gain = load(a.gain + i);
  for (std::size_t j = 0; j < count; ++j) {
    const std::size_t at = (r + j) * a.width + i;
    const float mean = a.stats[2 * (r + j)], rstd = a.stats[2 * (r + j) + 1];
    const Floats grad = load(a.grad + at), x = (load(a.x + at) - mean) * rstd;
    store(a.dx + at, load(a.dx + at) + (grad * gain - m[j].g - x * m[j].gx) * rstd);
    gain_sum += grad * x;
    bias_sum += grad;
  }
  if (a.dgain) store(a.dgain + i, load(a.dgain + i) + gain_sum);
  if (a.dbias) store(a.dbias + i, load(a.dbias + i) + bias_sum);
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
    std::size_t i = 0;
    if (count == together) {
      for (; i + lanes <= w; i += lanes) columns_backward(a, r, together, i, m);
    } else {
      for (; i + lanes <= w; i += lanes) columns_backward(a, r, count, i, m);
    }
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
