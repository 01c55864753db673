// What are GELU and cross-entropy, and their gradients? Compiled once for each instruction set.
#include "pairs.hpp"
#include "row_sums.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

namespace {

// gelu(x) = x (1 + tanh u) / 2 = x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3).
struct Gelu {
  Exp2 exp2;
  Floats linear = kept(-2.302208198f), cubic = kept(-0.1029432396f);  // of -2u / log 2
  Floats slope_constant = kept(1.595769122f), slope_square = kept(0.2140644489f);
  Floats most = kept(10.0f), least = kept(-10.0f);

  // The logistic function of 2u; x within +-10, beyond which it is 1, or less than 2^-125.
  SHARDMARK_INLINE Floats gate(Floats x, Floats square) const {
    return inverse(1.0f + exp2.within(x * (square * cubic + linear)));
  }
  SHARDMARK_INLINE Floats value(Floats x) const {
    const Floats from_below = maximum(least, x);  // so that -infinity gives next to 0, its limit
    const Floats at = minimum(most, from_below);
    return from_below * gate(at, at * at);
  }
  // d/dx: s + x s (1 - s) (2u)', where s is the gate.
  SHARDMARK_INLINE Floats slope(Floats x) const {
    const Floats at = minimum(most, maximum(least, x)), square = at * at;
    const Floats s = gate(at, square);
    return s + (s - s * s) * (at * (square * slope_square + slope_constant));
  }
};

}  // namespace

template <class T>
void gelu(const T* x, T* out, std::size_t n) {
  const Gelu g;
  by_pairs<T>(n, [&](std::size_t i, auto vector) {
    vector.to(out + i, each(vector.from(x + i), [&](Floats v) { return g.value(v); }));
  });
}

namespace {

// Columns [0, columns) of rows that stand `stride` apart; sums may be null.
template <class T>
void gelu_backward_into(const T* x, T* grad, float* sums, std::size_t rows, std::size_t stride,
                        std::size_t columns) {
  const Gelu of;
  constexpr std::size_t together = 4;  // rows: one load and store of the sums for so many
  for (std::size_t r = 0; r < rows; r += together) {
    const std::size_t count = rows - r < together ? rows - r : together;
    const std::size_t c = by_whole_vectors<T>(columns, [&](std::size_t i, auto vector) {
      decltype(vector.from(x)) s = {};
      for (std::size_t j = 0; j < count; ++j) {
        const std::size_t at = (r + j) * stride + i;
        const auto slope = each(vector.from(x + at), [&](Floats v) { return of.slope(v); });
        const auto g = vector.from(grad + at) * slope;
        vector.to(grad + at, g);
        s += g;
      }
      if (sums) add_sums(sums + i, vector, s);
    });
    if (c == columns) continue;
    const std::size_t rest = columns - c;
    for (std::size_t j = 0; j < count; ++j) {
      const std::size_t at = (r + j) * stride + c;
      const Floats g = load_first(grad + at, rest) * of.slope(load_first(x + at, rest));
      store_first(grad + at, g, rest);
      if (sums) store_first(sums + c, load_first(sums + c, rest) + g, rest);
    }
  }
}

}  // namespace

template <class T>
void gelu_backward(const T* x, T* grad, T* bias_grad, std::size_t rows, std::size_t stride,
                   std::size_t begin, std::size_t end) {
  const auto columns = [&](float* sums, std::size_t first, std::size_t count) {
    gelu_backward_into(x + begin + first, grad + begin + first, sums, rows, stride, count);
  };
  if (bias_grad) {
    add_row_sums(bias_grad + begin, end - begin, columns);
  } else {
    columns(nullptr, 0, end - begin);
  }
}

template <class T>
double cross_entropy(const T* logits, const std::int32_t* targets, float* lse, std::size_t rows,
                     std::size_t classes) {
  double loss = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const T* x = logits + r * classes;
    Floats most = all(load_one(x));
    std::size_t i = 0;
    for (; i + lanes <= classes; i += lanes) most = maximum(most, load(x + i));
    float top = largest(most);
    for (; i < classes; ++i) {
      const float v = load_one(x + i);
      top = v > top ? v : top;
    }
    Floats total[2] = {};
    for (i = 0; i + 2 * lanes <= classes; i += 2 * lanes) {
      total[0] += exp(load(x + i) - top);
      total[1] += exp(load(x + i + lanes) - top);
    }
    for (; i < classes; i += lanes) {
      const std::size_t rest = classes - i < lanes ? classes - i : lanes;
      alignas(64) float kept[lanes] = {};
      store_first(kept, exp(load_first(x + i, rest) - top), rest);
      total[0] += load(kept);
    }
    const float log_total = __builtin_logf(sum(total[0] + total[1]));
    lse[r] = top + log_total;
    const float target = load_one(x + targets[r]);
    loss +=
        (static_cast<double>(top) - static_cast<double>(target)) + static_cast<double>(log_total);
  }
  return loss;
}

template <class T>
void cross_entropy_backward(T* logits, const float* lse, const std::int32_t* targets,
                            std::size_t rows, std::size_t classes, float factor) {
  for (std::size_t r = 0; r < rows; ++r) {
    T* x = logits + r * classes;
    const float target = load_one(x + targets[r]);
    std::size_t i = 0;
    for (; i + lanes <= classes; i += lanes) store(x + i, exp(load(x + i) - lse[r]) * factor);
    if (i < classes)
      store_first(x + i, exp(load_first(x + i, classes - i) - lse[r]) * factor, classes - i);
    if constexpr (sizeof(T) == sizeof(float)) {
      x[targets[r]] -= factor;
    } else {  // not from what is rounded already
      store_one(x + targets[r], exp(all(target - lse[r]))[0] * factor - factor);
    }
  }
}

#define SHARDMARK_INSTANTIATE(T)                                                                  \
  template void gelu(const T*, T*, std::size_t);                                                  \
  template void gelu_backward(const T*, T*, T*, std::size_t, std::size_t, std::size_t,            \
                              std::size_t);                                                       \
  template double cross_entropy(const T*, const std::int32_t*, float*, std::size_t, std::size_t); \
  template void cross_entropy_backward(T*, const float*, const std::int32_t*, std::size_t,        \
                                       std::size_t, float)
SHARDMARK_INSTANTIATE(float);
SHARDMARK_INSTANTIATE(Bf16);
SHARDMARK_INSTANTIATE(F16);

}  // namespace shardmark::cpu::SHARDMARK_ISA
