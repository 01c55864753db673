// What are GELU and cross-entropy, and their gradients? Compiled once for each instruction set.
#include "kernels.hpp"

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

void gelu(const float* x, float* out, std::size_t n) {
  const Gelu g;
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    store(out + i, g.value(load(x + i)));
    store(out + i + lanes, g.value(load(x + i + lanes)));
  }
  for (; i < n; i += lanes) {
    const std::size_t rest = n - i < lanes ? n - i : lanes;
    store_first(out + i, g.value(load_first(x + i, rest)), rest);
  }
}

void gelu_backward(const float* x, float* grad, float* bias_grad, std::size_t rows,
                   std::size_t stride, std::size_t begin, std::size_t end) {
  const Gelu of;
  constexpr std::size_t together = 4;  // rows: one load and store of bias_grad for so many
  for (std::size_t r = 0; r < rows; r += together) {
    const std::size_t count = rows - r < together ? rows - r : together;
    std::size_t c = begin;
    for (; c + lanes <= end; c += lanes) {
      Floats s = Floats{};
      for (std::size_t j = 0; j < count; ++j) {
        const std::size_t at = (r + j) * stride + c;
        const Floats g = load(grad + at) * of.slope(load(x + at));
        store(grad + at, g);
        s += g;
      }
      if (bias_grad) store(bias_grad + c, load(bias_grad + c) + s);
    }
    if (c == end) continue;
    for (std::size_t j = 0; j < count; ++j) {
      const std::size_t at = (r + j) * stride + c;
      const Floats g = load_first(grad + at, end - c) * of.slope(load_first(x + at, end - c));
      store_first(grad + at, g, end - c);
      if (bias_grad) store_first(bias_grad + c, load_first(bias_grad + c, end - c) + g, end - c);
    }
  }
}

double cross_entropy(const float* logits, const std::int32_t* targets, float* lse, std::size_t rows,
                     std::size_t classes) {
  double loss = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const float* x = logits + r * classes;
    Floats most = all(x[0]);
    std::size_t i = 0;
    for (; i + lanes <= classes; i += lanes) most = maximum(most, load(x + i));
    float top = largest(most);
    for (; i < classes; ++i) top = x[i] > top ? x[i] : top;
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
    const float target = x[static_cast<std::size_t>(targets[r])];
    loss +=
        (static_cast<double>(top) - static_cast<double>(target)) + static_cast<double>(log_total);
  }
  return loss;
}

void cross_entropy_backward(float* logits, const float* lse, const std::int32_t* targets,
                            std::size_t rows, std::size_t classes, float factor) {
  for (std::size_t r = 0; r < rows; ++r) {
    float* x = logits + r * classes;
    std::size_t i = 0;
    for (; i + lanes <= classes; i += lanes) store(x + i, exp(load(x + i) - lse[r]) * factor);
    if (i < classes)
      store_first(x + i, exp(load_first(x + i, classes - i) - lse[r]) * factor, classes - i);
    x[static_cast<std::size_t>(targets[r])] -= factor;
  }
}

}  // namespace shardmark::cpu::SHARDMARK_ISA
