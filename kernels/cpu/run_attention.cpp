// How are attention and the loss checked and shared among threads? Head by head, and row by row.
#include "checks.hpp"
#include "parallel.hpp"
#include "run.hpp"
#include "table.hpp"

namespace shardmark::cpu {

namespace {

struct Heads {
  std::size_t batch, sequence, heads, head_dim;
  std::size_t width() const { return heads * head_dim; }
  std::size_t rows() const { return batch * sequence; }

  void check(const Operands& is) const {
    is.not_zero("batch", batch);
    is.not_zero("sequence", sequence);
    is.not_zero("heads", heads);
    is.not_zero("head_dim", head_dim);
  }
  // Where head h of sequence b starts in qkv, in out, and in lse.
  std::size_t in_qkv(std::size_t b, std::size_t h) const {
    return b * sequence * 3 * width() + h * head_dim;
  }
  std::size_t in_out(std::size_t b, std::size_t h) const {
    return b * sequence * width() + h * head_dim;
  }
  std::size_t in_lse(std::size_t b, std::size_t h) const { return (b * heads + h) * sequence; }
};

AttentionHead head_of(const Heads& of, const float* qkv, std::size_t b, std::size_t h) {
  AttentionHead a{};
  a.q = qkv + of.in_qkv(b, h);
  a.k = a.q + of.width();
  a.v = a.k + of.width();
  a.stride = 3 * of.width();
  a.out_stride = of.width();
  a.sequence = of.sequence;
  a.head_dim = of.head_dim;
  return a;
}

}  // namespace

void run_op(const Attention& o, int threads) {
  const Operands is("attention");
  const Heads of{o.batch, o.sequence, o.heads, o.head_dim};
  of.check(is);
  const float* qkv = is.in<float>("qkv", o.qkv, of.rows() * 3 * of.width());
  float* out = is.out<float>("out", o.out, of.rows() * of.width());
  float* lse = is.out<float>("lse", o.lse, of.rows() * of.heads);
  parallel_for(threads, of.batch * of.heads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t b = i / of.heads, h = i % of.heads;
      AttentionHead a = head_of(of, qkv, b, h);
      a.out_written = out + of.in_out(b, h);
      a.lse_written = lse + of.in_lse(b, h);
      table().attention(a);
    }
  });
}

void run_op(const AttentionBackward& o, int threads) {
  const Operands is("attention_backward");
  const Heads of{o.batch, o.sequence, o.heads, o.head_dim};
  of.check(is);
  const float* qkv = is.in<float>("qkv", o.qkv, of.rows() * 3 * of.width());
  const float* out = is.in<float>("out", o.out, of.rows() * of.width());
  const float* grad = is.in<float>("grad", o.grad, of.rows() * of.width());
  const float* lse = is.in<float>("lse", o.lse, of.rows() * of.heads);
  float* dqkv = is.out<float>("dqkv", o.dqkv, of.rows() * 3 * of.width());
  parallel_for(threads, of.batch * of.heads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t b = i / of.heads, h = i % of.heads;
      AttentionHead a = head_of(of, qkv, b, h);
      a.out = out + of.in_out(b, h);
      a.grad = grad + of.in_out(b, h);
      a.lse = lse + of.in_lse(b, h);
      a.dq = dqkv + of.in_qkv(b, h);
      a.dk = a.dq + of.width();
      a.dv = a.dk + of.width();
      table().attention_backward(a);
    }
  });
}

namespace {

const std::int32_t* targets_in(const Operands& is, ConstView v, std::size_t rows,
                               std::size_t classes) {
  const std::int32_t* t = is.in<std::int32_t>("targets", v, rows);
  for (std::size_t r = 0; r < rows; ++r) {
    if (t[r] < 0 || static_cast<std::size_t>(t[r]) >= classes) {
      is.fail("targets[" + std::to_string(r) + "] is " + std::to_string(t[r]) +
              ", but it must be 0 to " + std::to_string(classes - 1));
    }
  }
  return t;
}

}  // namespace

void run_op(const CrossEntropy& o, int threads) {
  const Operands is("cross_entropy");
  const std::size_t classes = o.classes, rows = is.rows("logits", o.logits, classes);
  const float* logits = is.in<float>("logits", o.logits, rows * classes);
  const std::int32_t* targets = targets_in(is, o.targets, rows, classes);
  float* lse = is.out<float>("lse", o.lse, rows);
  double* loss = is.out<double>("loss", o.loss, o.loss.size());
  is.need(o.at < o.loss.size(), "entry " + std::to_string(o.at) + " lies behind the end of loss");
  const double sum = sum_of_blocks(threads, rows, 64, [&](std::size_t r, std::size_t count) {
    return table().cross_entropy(logits + r * classes, targets + r, lse + r, count, classes);
  });
  loss[o.at] += o.scale * sum / static_cast<double>(rows);
}

void run_op(const CrossEntropyBackward& o, int threads) {
  const Operands is("cross_entropy_backward");
  const std::size_t classes = o.classes, rows = is.rows("logits", o.logits, classes);
  const std::int32_t* targets = targets_in(is, o.targets, rows, classes);
  const float* lse = is.in<float>("lse", o.lse, rows);
  float* logits = is.out<float>("logits", o.logits, rows * classes);
  double scale = o.scale;
  if (o.control)
    scale *= static_cast<double>(is.in<float>(
        "control", o.control, control_slots)[static_cast<int>(ControlSlot::loss_scale)]);
  const float factor = static_cast<float>(scale / static_cast<double>(rows));
  parallel_for(threads, rows, 1, [&](std::size_t b, std::size_t e) {
    table().cross_entropy_backward(logits + b * classes, lse + b, targets + b, e - b, classes,
                                   factor);
  });
}

}  // namespace shardmark::cpu
