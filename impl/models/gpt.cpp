#include "impl/models/gpt.hpp"

namespace shardmark {
namespace {

// What a block keeps for its backward, as views into one buffer.
struct BlockKept {
  View h1, qkv, attended, middle, h2, wide, gelu, out;  // widths in d: 1 3 1 1 1 4 4 1
  View stats1, stats2, lse;
};

class Gpt final : public Model {
 public:
  Gpt(Rank& r, const GptShape& s, const Architecture& a, const Options& o)
      : Model(r, a, o),
        shape_(s),
        kept_(a.units.size()),
        statistics_(a.units.size()),
        blocks_(s.layers) {
    View rest = workspace_;
    grad_ = carve(rest, s.rows() * s.width);
    wide_ = carve(rest, 4 * s.rows() * s.width);
    narrow_ = carve(rest, s.rows() * s.width);
    all_carved(rest);
  }

  Event forward(int u, Views w, Event after) override {
    take(u);
    Span span = queue_.begin(Phase::forward, u, after);
    if (u == 0)
      embed(w);
    else if (u == head())
      head_forward(w);
    else
      block_forward(u, w);
    return span.end();
  }

  Event backward(int u, Views w, Views g, Event after) override {
    Span span = queue_.begin(Phase::backward, u, after);
    if (u == 0)
      embed_backward(g);
    else if (u == head())
      head_backward(w, g);
    else
      block_backward(u, w, g);
    const Event done = span.end();
    kept_[at(u)].give_back(done);
    statistics_[at(u)].give_back(done);
    return done;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int head() const { return static_cast<int>(shape_.layers) + 1; }
  // What unit u hands to the next one.
  View output(int u) const { return u == 0 ? kept_[0].view() : blocks_[at(u - 1)].out; }

  void take(int u) {
    kept_[at(u)] = activation(u);
    statistics_[at(u)] = statistics(u);
    if (u == 0 || u == head()) return;
    const std::size_t md = rows() * shape_.width;
    View rest = kept_[at(u)].view();
    BlockKept& b = blocks_[at(u - 1)];
    b.h1 = carve(rest, md), b.qkv = carve(rest, 3 * md), b.attended = carve(rest, md),
    b.middle = carve(rest, md);
    b.h2 = carve(rest, md), b.wide = carve(rest, 4 * md), b.gelu = carve(rest, 4 * md),
    b.out = carve(rest, md);
    all_carved(rest);
    rest = statistics_[at(u)].view();
    b.stats1 = carve(rest, 2 * rows()), b.stats2 = carve(rest, 2 * rows()), b.lse = rest;
  }

  // out(rows, to) = x(rows, from) w + bias (+ residual)
  void linear(ConstView x, ConstView w, ConstView bias, ConstView residual, View out,
              std::size_t from, std::size_t to) {
    Matmul m;
    m.a = x, m.b = w, m.c = out, m.bias = bias, m.residual = residual, m.m = rows(), m.n = to,
    m.k = from;
    product(m);
  }
  // dw(from, to) += x^T dy
  void weight_gradient(ConstView x, ConstView dy, View dw, std::size_t from, std::size_t to) {
    if (!dw) return;
    Matmul m;
    m.a = x, m.b = dy, m.c = dw, m.m = from, m.n = to, m.k = rows(), m.ta = true, m.adds = true;
    product(m);
  }
  // dx(rows, from) = dy(rows, to) w^T
  void input_gradient(ConstView dy, ConstView w, View dx, std::size_t from, std::size_t to) {
    Matmul m;
    m.a = dy, m.b = w, m.c = dx, m.m = rows(), m.n = from, m.k = to, m.tb = true;
    product(m);
  }
  void bias_gradient(ConstView dy, View db) {
    if (db) run(ColumnSum{dy, db});
  }

  void embed(Views w) {
    run(Embed{tokens_, weight(w, 0, 0), weight(w, 0, 1), output(0), shape_.width, shape_.sequence});
  }
  void embed_backward(Views g) {
    run(EmbedBackward{tokens_, grad_, gradient(g, 0, 0), gradient(g, 0, 1), shape_.width,
                      shape_.sequence});
  }

  void block_forward(int u, Views w) {
    const std::size_t d = shape_.width;
    const BlockKept& b = blocks_[at(u - 1)];
    const View x = output(u - 1);
    run(LayerNorm{x, weight(w, u, 0), weight(w, u, 1), b.h1, b.stats1, d});
    linear(b.h1, weight(w, u, 2), weight(w, u, 3), {}, b.qkv, d, 3 * d);
    run(Attention{b.qkv, b.attended, b.lse, shape_.batch, shape_.sequence, shape_.heads,
                  shape_.head_dim()});
    linear(b.attended, weight(w, u, 4), weight(w, u, 5), x, b.middle, d, d);
    run(LayerNorm{b.middle, weight(w, u, 6), weight(w, u, 7), b.h2, b.stats2, d});
    linear(b.h2, weight(w, u, 8), weight(w, u, 9), {}, b.wide, d, 4 * d);
    run(Gelu{b.wide, b.gelu});
    linear(b.gelu, weight(w, u, 10), weight(w, u, 11), b.middle, b.out, 4 * d, d);
  }

  // grad_ is the gradient of the residual stream: of this block's output before, of its input
  // after.
  void block_backward(int u, Views w, Views g) {
    const std::size_t d = shape_.width, md = rows() * d;
    const BlockKept& b = blocks_[at(u - 1)];
    const View dqkv = wide_.slice({0, 3 * md});
    bias_gradient(grad_, gradient(g, u, 11));
    weight_gradient(b.gelu, grad_, gradient(g, u, 10), 4 * d, d);
    input_gradient(grad_, weight(w, u, 10), wide_, 4 * d, d);
    run(GeluBackward{b.wide, wide_, gradient(g, u, 9), 4 * d});
    weight_gradient(b.h2, wide_, gradient(g, u, 8), d, 4 * d);
    input_gradient(wide_, weight(w, u, 8), narrow_, d, 4 * d);
    run(LayerNormBackward{narrow_, b.middle, weight(w, u, 6), b.stats2, grad_, gradient(g, u, 6),
                          gradient(g, u, 7), d});

    bias_gradient(grad_, gradient(g, u, 5));
    weight_gradient(b.attended, grad_, gradient(g, u, 4), d, d);
    input_gradient(grad_, weight(w, u, 4), narrow_, d, d);
    run(AttentionBackward{b.qkv, b.attended, b.lse, narrow_, dqkv, shape_.batch, shape_.sequence,
                          shape_.heads, shape_.head_dim()});
    bias_gradient(dqkv, gradient(g, u, 3));
    weight_gradient(b.h1, dqkv, gradient(g, u, 2), d, 3 * d);
    input_gradient(dqkv, weight(w, u, 2), narrow_, d, 3 * d);
    run(LayerNormBackward{narrow_, output(u - 1), weight(w, u, 0), b.stats1, grad_,
                          gradient(g, u, 0), gradient(g, u, 1), d});
  }

  struct HeadKept {
    View normed, logits, stats, lse;
  };
  HeadKept head_kept() {
    View rest = kept_.back().view(), numbers = statistics_.back().view();
    HeadKept k;
    k.normed = carve(rest, rows() * shape_.width);
    k.logits = carve(rest, rows() * shape_.vocabulary);
    all_carved(rest);
    k.stats = carve(numbers, 2 * rows()), k.lse = numbers;
    return k;
  }

  void head_forward(Views w) {
    const int u = head();
    const HeadKept k = head_kept();
    run(LayerNorm{output(u - 1), weight(w, u, 0), weight(w, u, 1), k.normed, k.stats,
                  shape_.width});
    Matmul m;
    m.a = k.normed, m.b = weight(w, u, 2), m.c = k.logits, m.m = rows(), m.n = shape_.vocabulary,
    m.k = shape_.width, m.tb = true;
    product(m);
    run(CrossEntropy{k.logits, targets_, k.lse, losses_.view(), shape_.vocabulary, step_,
                     micro_scale()});
  }

  void head_backward(Views w, Views g) {
    const int u = head();
    const HeadKept k = head_kept();
    run(CrossEntropyBackward{targets_, k.lse, k.logits, shape_.vocabulary, micro_scale()});
    if (const View dw = gradient(g, u, 2)) {
      Matmul m;
      m.a = k.logits, m.b = k.normed, m.c = dw, m.m = shape_.vocabulary, m.n = shape_.width,
      m.k = rows(), m.ta = true, m.adds = true;
      product(m);
    }
    Matmul m;
    m.a = k.logits, m.b = weight(w, u, 2), m.c = narrow_, m.m = rows(), m.n = shape_.width,
    m.k = shape_.vocabulary;
    product(m);
    run(Clear{grad_});
    run(LayerNormBackward{narrow_, output(u - 1), weight(w, u, 0), k.stats, grad_,
                          gradient(g, u, 0), gradient(g, u, 1), shape_.width});
  }

  GptShape shape_;
  std::vector<Buffer> kept_, statistics_;  // by unit
  std::vector<BlockKept> blocks_;
  View grad_, wide_, narrow_;
};

}  // namespace

std::unique_ptr<Model> make_gpt(Rank& r, const GptShape& s, const Architecture& a,
                                const Options& o) {
  return std::make_unique<Gpt>(r, s, a, o);
}

}  // namespace shardmark
