#include "impl/eager.hpp"

namespace shardmark {
namespace {

double of(const ConstView& v) { return static_cast<double>(v.bytes()); }

// Losses are computed in f32 under autocast: bytes of logits in f32, and of the cast between.
struct Loss {
  double wide, cast;
  explicit Loss(const ConstView& logits)
      : wide(4.0 * static_cast<double>(logits.size())),
        cast(logits.dtype() == DType::f32 ? 0 : of(logits) + wide) {}
};

struct Extra {
  // The product is written and read again by a sum, which writes once more.
  double operator()(const Matmul& o) const { return o.residual ? 2 * of(o.c) : 0; }
  // The bias's gradient is a sum of its own.
  double operator()(const GeluBackward& o) const { return o.bias_grad ? of(o.grad) : 0; }
  // Gain and bias have a kernel of their own, and so has the sum with the residual's gradient.
  double operator()(const LayerNormBackward& o) const {
    return of(o.grad) + of(o.x) + 2 * of(o.dx);
  }
  double operator()(const RmsNormBackward& o) const { return of(o.grad) + of(o.x) + 2 * of(o.dx); }
  // silu, then a product; backward two products, then silu's own.
  double operator()(const Swiglu& o) const { return 2 * of(o.out); }
  double operator()(const SwigluBackward& o) const { return 4 * of(o.grad); }
  // Gradients of queries, keys and values are put side by side.
  double operator()(const AttentionBackward& o) const { return 2 * of(o.dqkv); }
  // A cast and log_softmax, in place of one pass that reads.
  double operator()(const CrossEntropy& o) const {
    const Loss loss(o.logits);
    return loss.cast + 2 * loss.wide - of(o.logits);
  }
  // The loss's gradient is filled, log_softmax reads that and its output and writes, a cast: in
  // place of one pass that reads and writes.
  double operator()(const CrossEntropyBackward& o) const {
    const Loss loss(o.logits);
    return 4 * loss.wide + loss.cast - 2 * of(o.logits);
  }
  template <class O>
  double operator()(const O&) const {
    return 0;
  }
};

}  // namespace

double eager_bytes(const Op& op) { return std::visit(Extra{}, op); }

}  // namespace shardmark
