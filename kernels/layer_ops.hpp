#pragma once
// What are models made of? Products, rows looked up, normalised, bent, attended and compared, each
// with its gradient. See op.hpp.
#include "array_ops.hpp"

namespace shardmark {

// c(m, n) = a(m, k) b(k, n) + bias(n) + residual(m, n), or adds. ta: a is stored (k, m); tb: b is
// stored (n, k).
struct Matmul {
  ConstView a, b;
  View c;
  ConstView bias, residual;  // each may be empty
  std::size_t m = 0, n = 0, k = 0;
  bool ta = false, tb = false, adds = false;
  View scratch;  // u8, at least what the device asks for this shape
  Access access() const { return {{a, b, bias, residual}, {c, scratch}}; }
};

struct ColumnSum {
  ConstView x;  // (rows, columns)
  View total;   // (columns), adds
  Access access() const { return {{x}, {total}}; }
};

// Row r of out = table[tokens[r]] + positions[r % sequence]; empty positions: the table's rows
// alone, and sequence does not count.
struct Embed {
  ConstView tokens;     // i32 (rows)
  ConstView table;      // (vocabulary, width)
  ConstView positions;  // (sequence, width); may be empty
  View out;             // (rows, width)
  std::size_t width = 0, sequence = 0;
  Access access() const { return {{tokens, table, positions}, {out}}; }
};
struct EmbedBackward {
  ConstView tokens, grad;  // i32 (rows); (rows, width)
  View table, positions;   // gradients, add; each may be empty
  std::size_t width = 0, sequence = 0;
  View scratch{};  // u8, at least what the device asks for this shape
  Access access() const { return {{tokens, grad}, {table, positions, scratch}}; }
};

// The bytes before each position, one-hot: out(r, (j * 256 + token[r - j]) % width) += 1 for j in
// [0, context), within its own sequence of `sequence` rows. The input of the multilayer perceptron.
struct OneHot {
  ConstView tokens;  // i32 (rows)
  View out;          // (rows, width)
  std::size_t width = 0, sequence = 0, context = 4;
  Access access() const { return {{tokens}, {out}}; }
};

// out = (x - mean) * rstd * gain + bias over rows of `width`, rstd = 1 / sqrt(variance + epsilon).
// (Residual sums are part of the product before: Matmul.)
struct LayerNorm {
  ConstView x, gain, bias;
  View out;    // (rows, width)
  View stats;  // f32 (rows, 2): mean, rstd
  std::size_t width = 0;
  float epsilon = 1e-5f;
  Access access() const { return {{x, gain, bias}, {out, stats}}; }
};
// dx adds the gradient through the normalisation; dgain and dbias add, each may be empty.
struct LayerNormBackward {
  ConstView grad, x, gain, stats;  // x: what was normalised
  View dx, dgain, dbias;
  std::size_t width = 0;
  View scratch{};  // u8, at least what the device asks for this shape
  Access access() const { return {{grad, x, gain, stats}, {dx, dgain, dbias, scratch}}; }
};

// out = x / rms * gain over rows of `width`, rms = sqrt(mean of squares + epsilon) (Zhang and
// Sennrich 2019, equation 4).
struct RmsNorm {
  ConstView x, gain;
  View out;    // (rows, width)
  View stats;  // f32 (rows): 1 / rms
  std::size_t width = 0;
  float epsilon = 1e-5f;
  Access access() const { return {{x, gain}, {out, stats}}; }
};
// dx adds the gradient through the normalisation; dgain adds, may be empty.
struct RmsNormBackward {
  ConstView grad, x, gain, stats;  // x: what was normalised
  View dx, dgain;
  std::size_t width = 0;
  View scratch{};  // u8, at least what the device asks for this shape
  Access access() const { return {{grad, x, gain, stats}, {dx, dgain, scratch}}; }
};

// Rotary positions (Su et al. 2021, section 3.2.2): pair i of a head at position t turns by t times
// theta^(-2i / head_dim). Frequencies may be divided for texts longer than a model was made for:
// all by `factor` where original is 0, else as Llama 3 does it (Grattafiori et al. 2024): those
// with wavelengths beyond original / low by factor, those below original / high not, smoothly
// between.
struct RotaryScaling {
  double factor = 1, low = 1, high = 4;
  std::size_t original = 0;  // positions the model was made for
};
struct RotaryTable {
  View to;  // f32 (sequence, head_dim): the cosines of a position's pairs, then their sines
  std::size_t head_dim = 0;
  double theta = 10000;
  RotaryScaling scaling;
  Access access() const { return {{}, {to}}; }
};
// Turns the first `heads` heads of each row of x (rows, stride), in place; element i of a head is
// paired with i + head_dim / 2. back: the other way round, which is the gradient.
struct Rotary {
  View x;
  ConstView table;
  std::size_t sequence = 0, heads = 0, head_dim = 0, stride = 0;
  bool back = false;
  Access access() const { return {{table}, {x}}; }
};

// GELU, tanh form (Hendrycks and Gimpel 2016).
struct Gelu {
  ConstView x;
  View out;
  Access access() const { return {{x}, {out}}; }
};
// grad becomes grad * gelu'(x), in place; its column sums add to bias_grad (may be empty): the bias
// of the layer that made x.
struct GeluBackward {
  ConstView x;     // (rows, columns)
  View grad;       // (rows, columns)
  View bias_grad;  // (columns)
  std::size_t columns = 0;
  Access access() const { return {{x}, {grad, bias_grad}}; }
};

// SwiGLU (Shazeer 2020): out = silu(gate) * up, where a row of x is gate, then up; silu(g) = g / (1
// + e^-g).
struct Swiglu {
  ConstView x;  // (rows, 2 * columns)
  View out;     // (rows, columns)
  std::size_t columns = 0;
  Access access() const { return {{x}, {out}}; }
};
struct SwigluBackward {
  ConstView x, grad;  // (rows, 2 * columns), (rows, columns)
  View dx;            // as x
  std::size_t columns = 0;
  Access access() const { return {{x, grad}, {dx}}; }
};

// Causal self-attention over qkv (batch * sequence, (heads + 2 * kv_heads) * head_dim), softmax of
// q k^T / sqrt(head_dim). Queries of head h look at key and value head h * kv_heads / heads
// (Ainslie et al. 2023). The T x T matrix is never stored whole; lse, f32 (batch, heads, sequence),
// keeps log-sum-exp of each row for backward.
struct Attention {
  ConstView qkv;
  View out;  // (batch * sequence, heads * head_dim)
  View lse;
  std::size_t batch = 0, sequence = 0, heads = 0, kv_heads = 0, head_dim = 0;
  Access access() const { return {{qkv}, {out, lse}}; }
};
struct AttentionBackward {
  ConstView qkv, out, lse, grad;  // grad: as out
  View dqkv;                      // as qkv
  std::size_t batch = 0, sequence = 0, heads = 0, kv_heads = 0, head_dim = 0;
  View scratch;  // u8, at least what the device asks for this shape
  Access access() const { return {{qkv, out, lse, grad}, {dqkv, scratch}}; }
};

// loss[at] adds scale * mean over rows of -log softmax(logits)[target]; accumulated in double. lse:
// (rows).
struct CrossEntropy {
  ConstView logits, targets;  // (rows, classes); i32 (rows)
  View lse, loss;             // (rows); f64
  std::size_t classes = 0, at = 0;
  double scale = 1;
  Access access() const { return {{logits, targets}, {lse, loss}}; }
};
// logits become their gradient, in place: scale * (softmax - onehot) / rows, and times the loss
// scale of control where that is given.
struct CrossEntropyBackward {
  ConstView targets, lse;
  View logits;
  std::size_t classes = 0;
  double scale = 1;
  ConstView control;  // f32[control_slots]; empty: no loss scale
  Access access() const { return {{targets, lse, control}, {logits}}; }
};

}  // namespace shardmark
