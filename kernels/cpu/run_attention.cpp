// How is attention checked and shared among threads? Head by head; backward, the query heads that
// look at one key and value head together, because their gradients meet there.
#include "kernels/product_operands.hpp"
#include "parallel.hpp"
#include "run.hpp"
#include "table.hpp"

namespace shardmark::cpu {

namespace {

struct Heads {
  std::size_t batch, sequence, heads, kv_heads, head_dim;
  std::size_t rows() const { return batch * sequence; }
  std::size_t width() const { return heads * head_dim; }
  std::size_t kv_width() const { return kv_heads * head_dim; }
  std::size_t qkv_width() const { return width() + 2 * kv_width(); }
  std::size_t shared_by() const { return heads / kv_heads; }

  // Where query head h, and key head h, of sequence b start in qkv; where h starts in out, and in
  // lse.
  std::size_t in_qkv(std::size_t b, std::size_t h) const {
    return b * sequence * qkv_width() + h * head_dim;
  }
  std::size_t in_keys(std::size_t b, std::size_t h) const { return in_qkv(b, heads + h); }
  std::size_t in_out(std::size_t b, std::size_t h) const {
    return b * sequence * width() + h * head_dim;
  }
  std::size_t in_lse(std::size_t b, std::size_t h) const { return (b * heads + h) * sequence; }
};
Heads heads_of(const Operands& is, const auto& o) {
  check_heads(is, o.batch, o.sequence, o.heads, o.kv_heads, o.head_dim);
  return {o.batch, o.sequence, o.heads, o.kv_heads, o.head_dim};
}

// f32 that one group needs: the gradients of its keys and its values and of one tile of queries, in
// whole tiles.
std::size_t sums_of(const AttentionBackward& o) {
  const auto up = [](std::size_t n, std::size_t to) { return (n + to - 1) / to * to; };
  return (2 * up(o.sequence, attention_tile) + attention_tile) *
         up(o.head_dim, attention_part(o.head_dim));
}
std::size_t parts_of(const AttentionBackward& o, int threads) {
  return std::min(static_cast<std::size_t>(threads), o.batch * o.kv_heads);
}

template <class T>
void forward(const Operands& is, const Heads& of, const Attention& o, int threads) {
  const T* qkv = is.in<T>("qkv", o.qkv, of.rows() * of.qkv_width());
  T* out = is.out<T>("out", o.out, of.rows() * of.width());
  float* lse = is.out<float>("lse", o.lse, of.rows() * of.heads);
  parallel_for(threads, of.batch * of.heads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t b = i / of.heads, h = i % of.heads;
      const T* k = qkv + of.in_keys(b, h / of.shared_by());
      table().of<T>().attention({.q = qkv + of.in_qkv(b, h),
                                 .k = k,
                                 .v = k + of.kv_width(),
                                 .out = out + of.in_out(b, h),
                                 .lse = lse + of.in_lse(b, h),
                                 .stride = of.qkv_width(),
                                 .out_stride = of.width(),
                                 .sequence = of.sequence,
                                 .head_dim = of.head_dim});
    }
  });
}

template <class T>
void backward(const Operands& is, const Heads& of, const AttentionBackward& o, int threads) {
  const T* qkv = is.in<T>("qkv", o.qkv, of.rows() * of.qkv_width());
  const T* out = is.in<T>("out", o.out, of.rows() * of.width());
  const T* grad = is.in<T>("grad", o.grad, of.rows() * of.width());
  const float* lse = is.in<float>("lse", o.lse, of.rows() * of.heads);
  T* dqkv = is.out<T>("dqkv", o.dqkv, of.rows() * of.qkv_width());
  is.scratch(o.scratch, scratch_of(o, threads));
  float* sums = reinterpret_cast<float*>(o.scratch.address());
  const std::size_t groups = of.batch * of.kv_heads, parts = parts_of(o, threads);
  parallel_for(threads, parts, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      for (std::size_t i = groups * p / parts; i < groups * (p + 1) / parts; ++i) {
        const std::size_t b = i / of.kv_heads, h = i % of.kv_heads, first = h * of.shared_by();
        const std::size_t keys = of.in_keys(b, h), values = keys + of.kv_width();
        table().of<T>().attention_backward({.q = qkv + of.in_qkv(b, first),
                                            .k = qkv + keys,
                                            .v = qkv + values,
                                            .grad = grad + of.in_out(b, first),
                                            .out = out + of.in_out(b, first),
                                            .lse = lse + of.in_lse(b, first),
                                            .dq = dqkv + of.in_qkv(b, first),
                                            .dk = dqkv + keys,
                                            .dv = dqkv + values,
                                            .sums = sums + p * sums_of(o),
                                            .stride = of.qkv_width(),
                                            .out_stride = of.width(),
                                            .sequence = of.sequence,
                                            .head_dim = of.head_dim,
                                            .heads = of.shared_by()});
      }
    }
  });
}

}  // namespace

std::size_t scratch_of(const AttentionBackward& o, int threads) {
  return parts_of(o, threads) * sums_of(o) * sizeof(float);
}

void run_op(const Attention& o, int threads) {
  const Operands is("attention", Space::host);
  const Heads of = heads_of(is, o);
  with_type(is, "qkv", o.qkv, [&]<class T>() { forward<T>(is, of, o, threads); });
}

void run_op(const AttentionBackward& o, int threads) {
  const Operands is("attention_backward", Space::host);
  const Heads of = heads_of(is, o);
  with_type(is, "qkv", o.qkv, [&]<class T>() { backward<T>(is, of, o, threads); });
}

}  // namespace shardmark::cpu
