#pragma once
// What should each op give? Straightforward loops in double, written from the formulas and sharing
// nothing with the kernels; their gradients are held against finite differences in ops_test.cpp.
// And memory with guards around it for the tests.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "kernels/op.hpp"

namespace shardmark::testing {

using Values = std::vector<double>;

// n elements of T with guards in front and behind, starting `shift` elements off a line.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::size_t n, std::size_t shift = 0)
      : size_(n), shift_(shift), memory_(n + 2 * guard + shift + line, T(77)) {
    auto at = reinterpret_cast<std::uintptr_t>(memory_.data() + guard);
    at = (at + 63) / 64 * 64;
    data_ = reinterpret_cast<T*>(at) + shift;
  }
  Guarded(const Values& from, std::size_t shift = 0) : Guarded(from.size(), shift) {
    for (std::size_t i = 0; i < size_; ++i) data_[i] = static_cast<T>(from[i]);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() {
    for (const T* p = memory_.data(); p < data_; ++p)
      EXPECT_EQ(*p, T(77)) << "written in front of an operand";
    for (const T* p = data_ + size_; p < memory_.data() + memory_.size(); ++p) {
      EXPECT_EQ(*p, T(77)) << "written behind an operand";
    }
  }
  View view() const {
    return {reinterpret_cast<std::uintptr_t>(data_), size_, dtype_of<T>(), Space::host};
  }
  operator View() const { return view(); }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::size_t size() const { return size_; }
  std::span<T> span() { return {data_, size_}; }
  Values values() const { return Values(data_, data_ + size_); }

 private:
  static constexpr std::size_t guard = 32, line = 64;
  std::size_t size_, shift_;
  std::vector<T> memory_;
  T* data_;
};

// Uniform in [-1, 1], rounded to float so that reference and kernel start from the same numbers.
inline Values random_values(std::size_t n, unsigned seed, double scale = 1) {
  std::mt19937 generator(seed);
  Values x(n);
  for (double& v : x) {
    v = static_cast<double>(static_cast<float>(scale * (generator() / 2147483648.0 - 1)));
  }
  return x;
}

template <class T>
void expect_near(const Guarded<T>& got, const Values& want, double tolerance, const char* what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), want[i], tolerance * (1 + std::fabs(want[i])))
        << what << " element " << i;
  }
}

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
inline Normed layer_norm(const Values& x, const Values& gain, const Values& bias) {
  const std::size_t w = gain.size(), rows = x.size() / w;
  Normed r{Values(x.size()), Values(2 * rows)};
  for (std::size_t i = 0; i < rows; ++i) {
    double mean = 0, variance = 0;
    for (std::size_t j = 0; j < w; ++j) mean += x[i * w + j] / static_cast<double>(w);
    for (std::size_t j = 0; j < w; ++j)
      variance += std::pow(x[i * w + j] - mean, 2) / static_cast<double>(w);
    const double rstd = 1 / std::sqrt(variance + 1e-5);
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
