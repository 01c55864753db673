#pragma once
// What can a device be told to do? An op is data: what it reads, what it writes, and its shape. A
// queue stores it, a device runs it, the dry device only looks at it; nobody describes an op twice.
//
// Shapes are row-major. "adds" means the output is added to; everything else is overwritten. An
// output may alias an input only where the op says "in place".
#include <array>
#include <functional>
#include <variant>

#include "view.hpp"

namespace shardmark {

// What an op touches; something that is read and written stands under writes.
struct Access {
  std::array<ConstView, 8> reads;
  std::array<View, 5> writes;
};

struct Clear {
  View to;
  Access access() const { return {{}, {to}}; }
};
// Copies; converts where the types differ.
struct Cast {
  ConstView from;
  View to;
  Access access() const { return {{from}, {to}}; }
};
struct Add {
  ConstView from;
  View to;  // adds
  Access access() const { return {{from}, {to}}; }
};

// How a parameter starts. bell: mean 0, standard deviation `scale`, the sum of four 16-bit uniforms
// (Irwin-Hall), exact in integers up to the last multiplication and so the same on every device.
struct Init {
  enum class Kind : std::uint8_t { constant, bell } kind = Kind::constant;
  float scale = 0;
};
// Element i of `to` becomes a function of (seed, stream, offset + i): a rank fills its cut without
// holding the whole.
struct Fill {
  View to;
  Init init;
  std::uint64_t seed = 0, stream = 0, offset = 0;
  Access access() const { return {{}, {to}}; }
};

// total += sum of squares, accumulated in double, in an order that depends on x.size() alone.
struct SumSquares {
  ConstView x;  // f32
  View total;   // f64[1], adds
  Access access() const { return {{x}, {total}}; }
};

// The scalars that AdamW reads on the device; the host reads nothing back inside a step. control is
// f32[4]:
enum class ControlSlot : std::uint8_t { coefficient, skip, step, loss_scale };
// From the squared norm (the sum over squares, in order): the clip coefficient min(1, clip / (norm
// + 1e-6)), skip = 1 if the norm is not finite, and step += 1 unless skipped. squares may be empty:
// coefficient 1, no skip. history is f64[2 * steps], may be empty: entry `at` gets the norm before
// and after clipping. Resets squares to 0.
struct ClipControl {
  View squares;  // f64[any]
  View control;  // f32[4]
  View history;  // f64[2 * steps]
  std::size_t at = 0;
  double clip = 0;  // 0: do not clip
  Access access() const { return {{}, {squares, control, history}}; }
};

struct AdamParameters {
  float lr = 1e-3f, beta1 = 0.9f, beta2 = 0.95f, epsilon = 1e-8f, decay = 0.01f;
};
// AdamW (Loshchilov and Hutter 2019, algorithm 2), one pass: g = coefficient * grad; m = b1 m + (1
// - b1) g; v = b2 v + (1 - b2) g^2; w -= lr (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay
// w). Element by element, bit for bit the same wherever an element stands in the view.
struct AdamW {
  View weight;
  View master;  // empty where the weight itself is f32
  ConstView grad;
  View first, second;  // f32
  ConstView control;   // f32[4]
  AdamParameters with;
  Access access() const { return {{grad, control}, {weight, master, first, second}}; }
};

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

// Row r of out = table[tokens[r]] + positions[r % sequence].
struct Embed {
  ConstView tokens;     // i32 (rows)
  ConstView table;      // (vocabulary, width)
  ConstView positions;  // (sequence, width)
  View out;             // (rows, width)
  std::size_t width = 0, sequence = 0;
  Access access() const { return {{tokens, table, positions}, {out}}; }
};
struct EmbedBackward {
  ConstView tokens, grad;  // i32 (rows); (rows, width)
  View table, positions;   // gradients, add; each may be empty
  std::size_t width = 0, sequence = 0;
  Access access() const { return {{tokens, grad}, {table, positions}}; }
};

// The bytes before each position, one-hot: out(r, (j * 256 + token[r - j]) % width) += 1 for j in
// [0, context), within its own sequence of `sequence` rows. The input of the multilayer perceptron.
struct OneHot {
  ConstView tokens;  // i32 (rows)
  View out;          // (rows, width)
  std::size_t width = 0, sequence = 0, context = 4;
  Access access() const { return {{tokens}, {out}}; }
};

// out = (x - mean) * rstd * gain + bias over rows of `width`. (Residual sums are part of the
// product before: Matmul.)
struct LayerNorm {
  ConstView x, gain, bias;
  View out;    // (rows, width)
  View stats;  // (rows, 2): mean, rstd
  std::size_t width = 0;
  Access access() const { return {{x, gain, bias}, {out, stats}}; }
};
// dx adds the gradient through the normalisation; dgain and dbias add, each may be empty.
struct LayerNormBackward {
  ConstView grad, x, gain, stats;  // x: what was normalised
  View dx, dgain, dbias;
  std::size_t width = 0;
  Access access() const { return {{grad, x, gain, stats}, {dx, dgain, dbias}}; }
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

// Causal self-attention over qkv (batch * sequence, 3 * heads * head_dim), softmax of q k^T /
// sqrt(head_dim). The T x T matrix is never stored whole; lse (batch, heads, sequence) keeps
// log-sum-exp of each row for backward.
struct Attention {
  ConstView qkv;
  View out;  // (batch * sequence, heads * head_dim)
  View lse;
  std::size_t batch = 0, sequence = 0, heads = 0, head_dim = 0;
  Access access() const { return {{qkv}, {out, lse}}; }
};
struct AttentionBackward {
  ConstView qkv, out, lse, grad;  // grad: as out
  View dqkv;                      // as qkv
  std::size_t batch = 0, sequence = 0, heads = 0, head_dim = 0;
  Access access() const { return {{qkv, out, lse, grad}, {dqkv}}; }
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
// logits become their gradient, in place: scale * (softmax - onehot) / rows.
struct CrossEntropyBackward {
  ConstView targets, lse;
  View logits;
  std::size_t classes = 0;
  double scale = 1;
  Access access() const { return {{targets, lse}, {logits}}; }
};

// A transfer between ranks: the device only keeps its place in the order; the communicator brings
// the body. volume: bytes sent, for the dry device's clock.
struct Transfer {
  ConstView from;
  View to, also;  // also: scratch that is written on the way
  double volume = 0;
  std::function<void()> body;
  Access access() const { return {{from}, {to, also}}; }
};

using Op =
    std::variant<Clear, Cast, Add, Fill, SumSquares, ClipControl, AdamW, Matmul, ColumnSum, Embed,
                 EmbedBackward, OneHot, LayerNorm, LayerNormBackward, Gelu, GeluBackward, Attention,
                 AttentionBackward, CrossEntropy, CrossEntropyBackward, Transfer>;

// Floating-point operations, multiply and add counted apart; only matrix products count (causal
// attention half).
double flops(const Op&);
std::string_view name(const Op&);

}  // namespace shardmark
