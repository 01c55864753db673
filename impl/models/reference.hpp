#pragma once
// What is the loss of these models, by the papers' formulas? For tests: plain loops in double over
// the parameters in order, sharing no code with the product.
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include "impl/architecture.hpp"

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
inline Matrix layer_norm(Matrix x, const std::vector<double>& gain,
                         const std::vector<double>& bias) {
  for (auto& row : x) {
    double mean = 0, variance = 0;
    for (double v : row) mean += v / static_cast<double>(row.size());
    for (double v : row) variance += (v - mean) * (v - mean) / static_cast<double>(row.size());
    for (std::size_t i = 0; i < row.size(); ++i)
      row[i] = (row[i] - mean) / std::sqrt(variance + 1e-5) * gain[i] + bias[i];
  }
  return x;
}
inline void add(Matrix& to, const Matrix& x) {
  for (std::size_t r = 0; r < to.size(); ++r)
    for (std::size_t i = 0; i < to[r].size(); ++i) to[r][i] += x[r][i];
}
inline Matrix attention(const Matrix& qkv, std::size_t d, std::size_t heads, std::size_t sequence) {
  Matrix out(qkv.size(), std::vector<double>(d));
  const std::size_t h = d / heads;
  for (std::size_t row = 0; row < qkv.size(); ++row)
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t first = row / sequence * sequence;
      std::vector<double> p;
      double sum = 0;
      for (std::size_t past = first; past <= row; ++past) {
        double dot = 0;
        for (std::size_t i = 0; i < h; ++i)
          dot += qkv[row][head * h + i] * qkv[past][d + head * h + i];
        p.push_back(std::exp(dot / std::sqrt(static_cast<double>(h))));
        sum += p.back();
      }
      for (std::size_t past = first; past <= row; ++past)
        for (std::size_t i = 0; i < h; ++i)
          out[row][head * h + i] += p[past - first] / sum * qkv[past][2 * d + head * h + i];
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

inline double gpt_loss(const Architecture& a, const Input& in,
                       const std::vector<double>& parameters) {
  std::size_t layers = 0, d = 0, heads = 0, tied = 0;
  std::sscanf(a.name.c_str(), "gpt:layers=%zu,width=%zu,heads=%zu,tied=%zu", &layers, &d, &heads,
              &tied);
  Reader read(parameters);
  const Matrix table = read.matrix(256, d), positions = read.matrix(in.sequence, d);
  Matrix x(in.tokens.size());
  for (std::size_t r = 0; r < x.size(); ++r) {
    x[r] = table[static_cast<std::size_t>(in.tokens[r])];
    for (std::size_t i = 0; i < d; ++i) x[r][i] += positions[r % in.sequence][i];
  }
  for (std::size_t l = 0; l < layers; ++l) {
    const auto g1 = read.vector(d), b1 = read.vector(d);
    const Matrix wqkv = read.matrix(d, 3 * d);
    const auto bqkv = read.vector(3 * d);
    const Matrix wproj = read.matrix(d, d);
    const auto bproj = read.vector(d), g2 = read.vector(d), b2 = read.vector(d);
    const Matrix wfc = read.matrix(d, 4 * d);
    const auto bfc = read.vector(4 * d);
    const Matrix wout = read.matrix(4 * d, d);
    const auto bout = read.vector(d);
    add(x, linear(attention(linear(layer_norm(x, g1, b1), wqkv, bqkv), d, heads, in.sequence),
                  wproj, bproj));
    add(x, linear(gelu(linear(layer_norm(x, g2, b2), wfc, bfc)), wout, bout));
  }
  const auto g = read.vector(d), b = read.vector(d);
  const Matrix head = tied ? table : read.matrix(256, d);
  Matrix transposed(d, std::vector<double>(256));
  for (std::size_t v = 0; v < 256; ++v)
    for (std::size_t i = 0; i < d; ++i) transposed[i][v] = head[v][i];
  return cross_entropy(linear(layer_norm(x, g, b), transposed, std::vector<double>(256)),
                       in.targets);
}

inline double mlp_loss(const Architecture& a, const Input& in,
                       const std::vector<double>& parameters) {
  std::size_t layers = 0, width = 0;
  std::sscanf(a.name.c_str(), "mlp:layers=%zu,width=%zu", &layers, &width);
  Reader read(parameters);
  Matrix x(in.tokens.size(), std::vector<double>(width));
  for (std::size_t r = 0; r < x.size(); ++r)
    for (std::size_t back = 0; back < 4 && back <= r % in.sequence; ++back)
      x[r][(back * 256 + static_cast<std::size_t>(in.tokens[r - back])) % width] += 1;
  for (std::size_t l = 0; l < layers; ++l) {
    const std::size_t out = l + 1 == layers ? 256 : width;
    const Matrix w = read.matrix(width, out);
    x = linear(x, w, read.vector(out));
    if (l + 1 < layers) x = gelu(std::move(x));
  }
  return cross_entropy(x, in.targets);
}

inline double loss(const Architecture& a, const Input& in, const std::vector<double>& parameters) {
  return a.name.starts_with("gpt") ? gpt_loss(a, in, parameters) : mlp_loss(a, in, parameters);
}

}  // namespace shardmark::reference
