#pragma once
// What should the ops of a transformer give, in each element type? Straightforward loops in double,
// written from the formulas and sharing nothing with the kernels; their gradients are held against
// finite differences in ops_reference_test.cpp.
#include "kernels/ops_reference.hpp"

namespace shardmark::testing::reference {

// 1 / rms of each row, and the row times that.
inline Normed rms_norm(const Values& x, const Values& gain, double epsilon) {
  const std::size_t w = gain.size(), rows = x.size() / w;
  Normed r{Values(x.size()), Values(rows)};
  for (std::size_t i = 0; i < rows; ++i) {
    double square = 0;
    for (std::size_t j = 0; j < w; ++j) square += std::pow(x[i * w + j], 2);
    r.stats[i] = 1 / std::sqrt(square / static_cast<double>(w) + epsilon);
    for (std::size_t j = 0; j < w; ++j) r.out[i * w + j] = x[i * w + j] * r.stats[i] * gain[j];
  }
  return r;
}
inline NormGradients rms_norm_backward(const Values& grad, const Values& x, const Values& gain,
                                       const Values& stats) {
  const std::size_t w = gain.size(), rows = x.size() / w;
  NormGradients r{Values(x.size()), Values(w), {}};
  for (std::size_t i = 0; i < rows; ++i) {
    double mean = 0;
    for (std::size_t j = 0; j < w; ++j) {
      const double n = x[i * w + j] * stats[i];
      mean += grad[i * w + j] * gain[j] * n / static_cast<double>(w);
      r.dgain[j] += grad[i * w + j] * n;
    }
    for (std::size_t j = 0; j < w; ++j) {
      const double n = x[i * w + j] * stats[i];
      r.dx[i * w + j] = (grad[i * w + j] * gain[j] - n * mean) * stats[i];
    }
  }
  return r;
}

inline double silu(double x) { return x / (1 + std::exp(-x)); }
inline double silu_slope(double x) {
  const double s = 1 / (1 + std::exp(-x));
  return s * (1 + x * (1 - s));
}
inline Values swiglu(const Values& x, std::size_t columns) {
  Values out(x.size() / 2);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t gate = i / columns * 2 * columns + i % columns;
    out[i] = silu(x[gate]) * x[gate + columns];
  }
  return out;
}
inline Values swiglu_backward(const Values& x, const Values& grad, std::size_t columns) {
  Values dx(x.size());
  for (std::size_t i = 0; i < grad.size(); ++i) {
    const std::size_t gate = i / columns * 2 * columns + i % columns;
    dx[gate] = grad[i] * x[gate + columns] * silu_slope(x[gate]);
    dx[gate + columns] = grad[i] * silu(x[gate]);
  }
  return dx;
}

// The first `heads` heads of each row of x, turned by `direction` times their position.
inline Values rotary(Values x, std::size_t sequence, std::size_t heads, std::size_t head_dim,
                     std::size_t stride, double theta, double direction) {
  const std::size_t half = head_dim / 2;
  for (std::size_t r = 0; r < x.size() / stride; ++r) {
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < half; ++i) {
        double &a = x[r * stride + h * head_dim + i], &b = x[r * stride + h * head_dim + half + i];
        const double angle =
            direction * static_cast<double>(r % sequence) *
            std::pow(theta, -2 * static_cast<double>(i) / static_cast<double>(head_dim));
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = a * std::sin(angle) + b * std::cos(angle);
        a = turned;
      }
    }
  }
  return x;
}

struct Shape {
  std::size_t batch, sequence, heads, kv_heads, head_dim;
  std::size_t rows() const { return batch * sequence; }
  std::size_t width() const { return heads * head_dim; }
  std::size_t qkv_width() const { return (heads + 2 * kv_heads) * head_dim; }
  // Where row t of the query of head h starts; of the key and of the value that it looks at.
  std::size_t q_at(std::size_t b, std::size_t t, std::size_t h) const {
    return (b * sequence + t) * qkv_width() + h * head_dim;
  }
  std::size_t k_at(std::size_t b, std::size_t t, std::size_t h) const {
    return q_at(b, t, heads + h * kv_heads / heads);
  }
  std::size_t v_at(std::size_t b, std::size_t t, std::size_t h) const {
    return k_at(b, t, h) + kv_heads * head_dim;
  }
  std::size_t out_at(std::size_t b, std::size_t t, std::size_t h) const {
    return (b * sequence + t) * width() + h * head_dim;
  }
};

inline double dot_at(const Values& a, std::size_t i, const Values& b, std::size_t j,
                     std::size_t n) {
  const double *x = &a[i], *y = &b[j];
  double s = 0;
  for (std::size_t d = 0; d < n; ++d) s += x[d] * y[d];
  return s;
}
// a(i...) += factor * b(j...)
inline void add_at(Values& a, std::size_t i, double factor, const Values& b, std::size_t j,
                   std::size_t n) {
  const double* y = &b[j];
  double* x = &a[i];
  for (std::size_t d = 0; d < n; ++d) x[d] += factor * y[d];
}

// f(b, h, t, lse, p) for every query, p the probabilities of the keys that it sees.
template <class F>
void for_each_query(const Values& qkv, const Shape& s, F&& f) {
  const double scale = 1 / std::sqrt(static_cast<double>(s.head_dim));
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (std::size_t h = 0; h < s.heads; ++h) {
      for (std::size_t t = 0; t < s.sequence; ++t) {
        Values p(t + 1);
        double top = -INFINITY, total = 0;
        for (std::size_t j = 0; j <= t; ++j) {
          p[j] = scale * dot_at(qkv, s.q_at(b, t, h), qkv, s.k_at(b, j, h), s.head_dim);
          top = std::max(top, p[j]);
        }
        for (double v : p) total += std::exp(v - top);
        const double lse = top + std::log(total);
        for (double& v : p) v = std::exp(v - lse);
        f(b, h, t, lse, p);
      }
    }
  }
}
struct Attended {
  Values out, lse;
};
inline Attended attention(const Values& qkv, const Shape& s) {
  Attended r{Values(s.rows() * s.width()), {}};
  for_each_query(qkv, s, [&](auto b, auto h, auto t, double lse, const Values& p) {
    r.lse.push_back(lse);
    for (std::size_t j = 0; j <= t; ++j)
      add_at(r.out, s.out_at(b, t, h), p[j], qkv, s.v_at(b, j, h), s.head_dim);
  });
  return r;
}
// out: what attention gave, rounded as it was stored.
inline Values attention_backward(const Values& qkv, const Values& out, const Values& grad,
                                 const Shape& s) {
  Values dqkv(qkv.size());
  const double scale = 1 / std::sqrt(static_cast<double>(s.head_dim));
  for_each_query(qkv, s, [&](auto b, auto h, auto t, double, const Values& p) {
    const std::size_t n = s.head_dim, g = s.out_at(b, t, h), q = s.q_at(b, t, h);
    const double mean = dot_at(grad, g, out, g, n);
    for (std::size_t j = 0; j <= t; ++j) {
      const std::size_t k = s.k_at(b, j, h), v = s.v_at(b, j, h);
      const double ds = p[j] * (dot_at(grad, g, qkv, v, n) - mean) * scale;
      add_at(dqkv, q, ds, qkv, k, n);
      add_at(dqkv, k, ds, qkv, q, n);
      add_at(dqkv, v, p[j], grad, g, n);
    }
  });
  return dqkv;
}

}  // namespace shardmark::testing::reference
