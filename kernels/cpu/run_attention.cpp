// How is attention checked and shared among threads? Head by head.
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

}  // namespace shardmark::cpu
