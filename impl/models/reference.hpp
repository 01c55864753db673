#pragma once
// What is the loss of these models, by the papers' formulas? For tests: plain loops in double over
// the parameters in order, sharing no code with the product.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "impl/models/registry.hpp"

namespace shardmark::reference {

struct Input {
  std::span<const std::int32_t> tokens, targets;
  std::size_t batch, sequence;
};
using Matrix = std::vector<std::vector<double>>;

class Reader {  // hands out parameters in order
 public:
  explicit Reader(const std::vector<double>& all) : all_(all) {}
  Matrix matrix(std::size_t rows, std::size_t columns) {
    Matrix m(rows, std::vector<double>(columns));
    for (auto& row : m)
      for (double& x : row) x = all_[at_++];
    return m;
  }
  std::vector<double> vector(std::size_t n) { return matrix(1, n)[0]; }

 private:
  const std::vector<double>& all_;
  std::size_t at_ = 0;
};

inline Matrix linear(const Matrix& x, const Matrix& w, const std::vector<double>& b) {
  Matrix y(x.size(), b);
  for (std::size_t r = 0; r < x.size(); ++r)
    for (std::size_t i = 0; i < w.size(); ++i)
      for (std::size_t j = 0; j < b.size(); ++j) y[r][j] += x[r][i] * w[i][j];
  return y;
}
inline Matrix gelu(Matrix x) {
  for (auto& row : x)
    for (double& v : row)
      v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  return x;
}
inline Matrix layer_norm(Matrix x, const std::vector<double>& gain, const std::vector<double>& bias,
                         double epsilon) {
  for (auto& row : x) {
    double mean = 0, variance = 0;
    for (double v : row) mean += v / static_cast<double>(row.size());
    for (double v : row) variance += (v - mean) * (v - mean) / static_cast<double>(row.size());
    for (std::size_t i = 0; i < row.size(); ++i)
      row[i] = (row[i] - mean) / std::sqrt(variance + epsilon) * gain[i] + bias[i];
  }
  return x;
}
inline void add(Matrix& to, const Matrix& x) {
  for (std::size_t r = 0; r < to.size(); ++r)
    for (std::size_t i = 0; i < to[r].size(); ++i) to[r][i] += x[r][i];
}
// Of qkv's row: queries of all heads, then keys, then values of the fewer ones that they share.
inline Matrix attention(const Matrix& qkv, std::size_t heads, std::size_t kv_heads, std::size_t h,
                        std::size_t sequence) {
  Matrix out(qkv.size(), std::vector<double>(heads * h));
  for (std::size_t row = 0; row < qkv.size(); ++row)
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t first = row / sequence * sequence, shared = head / (heads / kv_heads),
                        key = (heads + shared) * h, value = (heads + kv_heads + shared) * h;
      std::vector<double> p;
      double sum = 0;
      for (std::size_t past = first; past <= row; ++past) {
        double dot = 0;
        for (std::size_t i = 0; i < h; ++i) dot += qkv[row][head * h + i] * qkv[past][key + i];
        p.push_back(std::exp(dot / std::sqrt(static_cast<double>(h))));
        sum += p.back();
      }
      for (std::size_t past = first; past <= row; ++past)
        for (std::size_t i = 0; i < h; ++i)
          out[row][head * h + i] += p[past - first] / sum * qkv[past][value + i];
    }
  return out;
}
inline double cross_entropy(const Matrix& logits, std::span<const std::int32_t> targets) {
  double loss = 0;
  for (std::size_t r = 0; r < logits.size(); ++r) {
    double sum = 0;
    for (double l : logits[r]) sum += std::exp(l);
    loss += (std::log(sum) - logits[r][static_cast<std::size_t>(targets[r])]) /
            static_cast<double>(logits.size());
  }
  return loss;
}

inline Matrix rms_norm(Matrix x, const std::vector<double>& gain, double epsilon) {
  for (auto& row : x) {
    double squares = 0;
    for (double v : row) squares += v * v / static_cast<double>(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) row[i] *= gain[i] / std::sqrt(squares + epsilon);
  }
  return x;
}
inline double rotary_frequency(const LlamaShape& s, std::size_t pair) {
  const double f =
      std::pow(s.theta, -2.0 * static_cast<double>(pair) / static_cast<double>(s.head_dim));
  if (s.scaling.original == 0) return f / s.scaling.factor;
  // The turns that a pair makes over the positions the model was made for say how much is scaled.
  const double turns = static_cast<double>(s.scaling.original) * f / (2 * M_PI);
  const double kept =
      std::clamp((turns - s.scaling.low) / (s.scaling.high - s.scaling.low), 0.0, 1.0);
  return f * (kept + (1 - kept) / s.scaling.factor);
}
// Each pair of a head is a complex number that its position turns.
inline Matrix rotary(Matrix x, const LlamaShape& s) {
  for (std::size_t row = 0; row < x.size(); ++row)
    for (std::size_t head = 0; head < s.heads + s.kv_heads; ++head)
      for (std::size_t i = 0; i < s.head_dim / 2; ++i) {
        double &a = x[row][head * s.head_dim + i],
               &b = x[row][head * s.head_dim + i + s.head_dim / 2];
        const double angle = static_cast<double>(row % s.sequence) * rotary_frequency(s, i);
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = a * std::sin(angle) + b * std::cos(angle);
        a = turned;
      }
  return x;
}
inline Matrix swiglu(const Matrix& x) {
  Matrix out;
  for (const auto& row : x) {
    const std::size_t inner = row.size() / 2;
    out.emplace_back();
    for (std::size_t i = 0; i < inner; ++i)
      out.back().push_back(row[i] / (1 + std::exp(-row[i])) * row[inner + i]);
  }
  return out;
}

inline Matrix looked_up(const Matrix& table, const Input& in) {
  Matrix x;
  for (std::int32_t t : in.tokens) x.push_back(table[static_cast<std::size_t>(t)]);
  return x;
}
inline double head_loss(const Matrix& x, const Matrix& table, const Input& in) {
  Matrix transposed(x[0].size(), std::vector<double>(table.size()));
  for (std::size_t v = 0; v < table.size(); ++v)
    for (std::size_t i = 0; i < table[v].size(); ++i) transposed[i][v] = table[v][i];
  return cross_entropy(linear(x, transposed, std::vector<double>(table.size())), in.targets);
}

inline double loss(const GptShape& s, const Input& in, const std::vector<double>& parameters) {
  const std::size_t d = s.width;
  Reader read(parameters);
  const Matrix table = read.matrix(s.vocabulary, d), positions = read.matrix(s.positions, d);
  Matrix x = looked_up(table, in);
  for (std::size_t r = 0; r < x.size(); ++r)
    for (std::size_t i = 0; i < d; ++i) x[r][i] += positions[r % in.sequence][i];
  for (std::size_t l = 0; l < s.layers; ++l) {
    const auto g1 = read.vector(d), b1 = read.vector(d);
    const Matrix wqkv = read.matrix(d, 3 * d);
    const auto bqkv = read.vector(3 * d);
    const Matrix wproj = read.matrix(d, d);
    const auto bproj = read.vector(d), g2 = read.vector(d), b2 = read.vector(d);
    const Matrix wfc = read.matrix(d, s.inner);
    const auto bfc = read.vector(s.inner);
    const Matrix wout = read.matrix(s.inner, d);
    const auto bout = read.vector(d);
    const Matrix qkv = linear(layer_norm(x, g1, b1, s.epsilon), wqkv, bqkv);
    add(x, linear(attention(qkv, s.heads, s.heads, d / s.heads, in.sequence), wproj, bproj));
    add(x, linear(gelu(linear(layer_norm(x, g2, b2, s.epsilon), wfc, bfc)), wout, bout));
  }
  const auto g = read.vector(d), b = read.vector(d);
  return head_loss(layer_norm(x, g, b, s.epsilon), s.tied ? table : read.matrix(s.vocabulary, d),
                   in);
}

inline double loss(const LlamaShape& s, const Input& in, const std::vector<double>& parameters) {
  const std::size_t d = s.width, attended = s.heads * s.head_dim,
                    qkv = attended + 2 * s.kv_heads * s.head_dim;
  Reader read(parameters);
  const auto bias = [&](bool has, std::size_t n) {
    return has ? read.vector(n) : std::vector<double>(n);
  };
  const Matrix table = read.matrix(s.vocabulary, d);
  Matrix x = looked_up(table, in);
  for (std::size_t l = 0; l < s.layers; ++l) {
    const auto g1 = read.vector(d);
    const Matrix wqkv = read.matrix(d, qkv);
    const auto bqkv = bias(s.qkv_bias, qkv);
    const Matrix wo = read.matrix(attended, d);
    const auto bo = bias(s.o_bias, d), g2 = read.vector(d);
    const Matrix wgate_up = read.matrix(d, 2 * s.inner);
    const auto bgate_up = bias(s.mlp_bias, 2 * s.inner);
    const Matrix wdown = read.matrix(s.inner, d);
    const auto bdown = bias(s.mlp_bias, d);
    const Matrix turned = rotary(linear(rms_norm(x, g1, s.epsilon), wqkv, bqkv), s);
    add(x, linear(attention(turned, s.heads, s.kv_heads, s.head_dim, in.sequence), wo, bo));
    add(x, linear(swiglu(linear(rms_norm(x, g2, s.epsilon), wgate_up, bgate_up)), wdown, bdown));
  }
  const auto g = read.vector(d);
  return head_loss(rms_norm(x, g, s.epsilon), s.tied ? table : read.matrix(s.vocabulary, d), in);
}

inline double loss(const MlpShape& s, const Input& in, const std::vector<double>& parameters) {
  Reader read(parameters);
  Matrix x(in.tokens.size(), std::vector<double>(s.width));
  for (std::size_t r = 0; r < x.size(); ++r)
    for (std::size_t back = 0; back < 4 && back <= r % in.sequence; ++back)
      x[r][(back * 256 + static_cast<std::size_t>(in.tokens[r - back])) % s.width] += 1;
  for (std::size_t l = 0; l < s.layers; ++l) {
    const std::size_t out = l + 1 == s.layers ? 256 : s.width;
    const Matrix w = read.matrix(s.width, out);
    x = linear(x, w, read.vector(out));
    if (l + 1 < s.layers) x = gelu(std::move(x));
  }
  return cross_entropy(x, in.targets);
}

inline double loss(const ModelShape& shape, const Input& in,
                   const std::vector<double>& parameters) {
  return std::visit([&](const auto& s) { return loss(s, in, parameters); }, shape);
}

}  // namespace shardmark::reference
