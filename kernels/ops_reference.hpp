#pragma once
// What should each op give? Straightforward loops in double, written from the formulas and sharing
// nothing with the kernels; their gradients are held against finite differences in
// ops_reference_test.cpp.
#include "kernels/guarded.hpp"

namespace shardmark::testing {

inline Values plus(Values a, const Values& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}
// Where a function has reached its limit, exactly; next to nothing will do for nothing.
inline void expect_limit(double got, double want) {
  if (want == 0) {
    EXPECT_NEAR(got, 0, 1e-30);
  } else {
    EXPECT_EQ(got, want);
  }
}

namespace reference {

inline Values matmul(const Values& a, const Values& b, std::size_t m, std::size_t n, std::size_t k,
                     bool ta, bool tb) {
  Values c(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t l = 0; l < k; ++l)
        c[i * n + j] += a[ta ? l * m + i : i * k + l] * b[tb ? j * k + l : l * n + j];
    }
  }
  return c;
}

struct Normed {
  Values out, stats;
};
inline Normed layer_norm(const Values& x, const Values& gain, const Values& bias,
                         double epsilon = 1e-5) {
  const std::size_t w = gain.size(), rows = x.size() / w;
  Normed r{Values(x.size()), Values(2 * rows)};
  for (std::size_t i = 0; i < rows; ++i) {
    double mean = 0, variance = 0;
    for (std::size_t j = 0; j < w; ++j) mean += x[i * w + j] / static_cast<double>(w);
    for (std::size_t j = 0; j < w; ++j)
      variance += std::pow(x[i * w + j] - mean, 2) / static_cast<double>(w);
    const double rstd = 1 / std::sqrt(variance + epsilon);
    for (std::size_t j = 0; j < w; ++j)
      r.out[i * w + j] = (x[i * w + j] - mean) * rstd * gain[j] + bias[j];
    r.stats[2 * i] = mean;
    r.stats[2 * i + 1] = rstd;
  }
  return r;
}
struct NormGradients {
  Values dx, dgain, dbias;
};
inline NormGradients layer_norm_backward(const Values& grad, const Values& x, const Values& gain,
                                         const Values& stats) {
  const std::size_t w = gain.size(), rows = x.size() / w;
  NormGradients r{Values(x.size()), Values(w), Values(w)};
  for (std::size_t i = 0; i < rows; ++i) {
    const double mean = stats[2 * i], rstd = stats[2 * i + 1];
    double g_mean = 0, gx_mean = 0;
    for (std::size_t j = 0; j < w; ++j) {
      const double g = grad[i * w + j] * gain[j], n = (x[i * w + j] - mean) * rstd;
      g_mean += g / static_cast<double>(w);
      gx_mean += g * n / static_cast<double>(w);
      r.dgain[j] += grad[i * w + j] * n;
      r.dbias[j] += grad[i * w + j];
    }
    for (std::size_t j = 0; j < w; ++j) {
      const double n = (x[i * w + j] - mean) * rstd;
      r.dx[i * w + j] = rstd * (grad[i * w + j] * gain[j] - g_mean - n * gx_mean);
    }
  }
  return r;
}

inline double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
inline double gelu_slope(double x) {
  const double c = std::sqrt(2 / M_PI), t = std::tanh(c * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x);
}

inline double cross_entropy(const Values& logits, const std::vector<std::int32_t>& targets,
                            std::size_t classes) {
  double loss = 0;
  for (std::size_t r = 0; r < targets.size(); ++r) {
    double total = 0;
    for (std::size_t c = 0; c < classes; ++c) total += std::exp(logits[r * classes + c]);
    loss += std::log(total) - logits[r * classes + static_cast<std::size_t>(targets[r])];
  }
  return loss / static_cast<double>(targets.size());
}

}  // namespace reference

// f's gradient at x by central differences.
template <class F>
Values finite_differences(F&& f, Values x) {
  Values g(x.size());
  constexpr double h = 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + h;
    const double above = f(x);
    x[i] = at - h;
    g[i] = (above - f(x)) / (2 * h);
    x[i] = at;
  }
  return g;
}

inline double dot(const Values& a, const Values& b) {
  double s = 0;
  for (std::size_t i = 0; i < a.size(); ++i) s += a[i] * b[i];
  return s;
}

}  // namespace shardmark::testing
