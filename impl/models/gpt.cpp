#include "impl/models/gpt.hpp"

namespace shardmark {
namespace {

class Gpt final : public Model {
 public:
  Gpt(Rank& r, const GptShape& s, const Architecture& a, const Options& o)
      : Model(r, a, o), shape_(s) {
    View rest = workspace_;
    grad_ = carve(rest, s.rows() * s.width);
    wide_ = carve(rest, s.rows() * std::max(s.inner, 3 * s.width));
    narrow_ = carve(rest, s.rows() * s.width);
    all_carved(rest);
  }

 private:
  void run_forward(int u, Views w, const Memory& m) override {
    if (u == 0)
      run(Embed{tokens_, weight(w, 0, 0), used_positions(weight(w, 0, 1)), m.out, shape_.width,
                shape_.sequence});
    else if (u == last_unit())
      head_forward(w, m);
    else
      block_forward(u, w, m);
  }
  void run_backward(int u, Views w, Views g, const Memory& m) override {
    if (u == 0)
      embed_backward(g);
    else if (u == last_unit())
      head_backward(w, g, m);
    else
      block_backward(u, w, g, m);
  }

  // A text may be shorter than what the table has places for.
  template <class V>
  V used_positions(V all) const {
    return all ? all.slice({0, shape_.sequence * shape_.width}) : all;
  }
  void embed_backward(Views g) {
    run(EmbedBackward{tokens_, grad_, gradient(g, 0, 0), used_positions(gradient(g, 0, 1)),
                      shape_.width, shape_.sequence});
  }

  // What a block keeps for its backward, as views into its memory.
  struct Block {
    View h1, qkv, attended, middle, h2, wide, gelu;
    View stats1, stats2, lse;
  };
  Block block(const Memory& m) const {
    const std::size_t md = rows() * shape_.width;
    View rest = m.activation;
    Block b;
    b.h1 = carve(rest, md), b.qkv = carve(rest, 3 * md), b.attended = carve(rest, md);
    b.middle = carve(rest, md), b.h2 = carve(rest, md);
    b.wide = carve(rest, rows() * shape_.inner), b.gelu = carve(rest, rows() * shape_.inner);
    all_carved(rest);
    rest = m.statistics;
    b.stats1 = carve(rest, 2 * rows()), b.stats2 = carve(rest, 2 * rows()), b.lse = rest;
    return b;
  }

  void block_forward(int u, Views w, const Memory& m) {
    const std::size_t d = shape_.width, inner = shape_.inner;
    const Block b = block(m);
    run(LayerNorm{m.in, weight(w, u, 0), weight(w, u, 1), b.h1, b.stats1, d, shape_.epsilon});
    linear(b.h1, weight(w, u, 2), weight(w, u, 3), {}, b.qkv, d, 3 * d);
    run(Attention{b.qkv, b.attended, b.lse, shape_.batch, shape_.sequence, shape_.heads,
                  shape_.heads, shape_.head_dim()});
    linear(b.attended, weight(w, u, 4), weight(w, u, 5), m.in, b.middle, d, d);
    run(LayerNorm{b.middle, weight(w, u, 6), weight(w, u, 7), b.h2, b.stats2, d, shape_.epsilon});
    linear(b.h2, weight(w, u, 8), weight(w, u, 9), {}, b.wide, d, inner);
    run(Gelu{b.wide, b.gelu});
    if (m.out) linear(b.gelu, weight(w, u, 10), weight(w, u, 11), b.middle, m.out, inner, d);
  }

  // grad_ is the gradient of the residual stream: of this block's output before, of its input
  // after.
  void block_backward(int u, Views w, Views g, const Memory& m) {
    const std::size_t d = shape_.width, inner = shape_.inner;
    const Block b = block(m);
    const View wide = wide_.slice({0, rows() * inner}), dqkv = wide_.slice({0, 3 * rows() * d});
    bias_gradient(grad_, gradient(g, u, 11));
    weight_gradient(b.gelu, grad_, gradient(g, u, 10), inner, d);
    input_gradient(grad_, weight(w, u, 10), wide, inner, d);
    run(GeluBackward{b.wide, wide, gradient(g, u, 9), inner});
    weight_gradient(b.h2, wide, gradient(g, u, 8), d, inner);
    input_gradient(wide, weight(w, u, 8), narrow_, d, inner);
    run(LayerNormBackward{narrow_, b.middle, weight(w, u, 6), b.stats2, grad_, gradient(g, u, 6),
                          gradient(g, u, 7), d});

    bias_gradient(grad_, gradient(g, u, 5));
    weight_gradient(b.attended, grad_, gradient(g, u, 4), d, d);
    input_gradient(grad_, weight(w, u, 4), narrow_, d, d);
    run(AttentionBackward{b.qkv,
                          b.attended,
                          b.lse,
                          narrow_,
                          dqkv,
                          shape_.batch,
                          shape_.sequence,
                          shape_.heads,
                          shape_.heads,
                          shape_.head_dim(),
                          {}});
    bias_gradient(dqkv, gradient(g, u, 3));
    weight_gradient(b.h1, dqkv, gradient(g, u, 2), d, 3 * d);
    input_gradient(dqkv, weight(w, u, 2), narrow_, d, 3 * d);
    run(LayerNormBackward{narrow_, m.in, weight(w, u, 0), b.stats1, grad_, gradient(g, u, 0),
                          gradient(g, u, 1), d});
  }

  struct Head {
    View normed, logits, stats, lse;
  };
  Head head(const Memory& m) const {
    View rest = m.activation, numbers = m.statistics;
    Head h;
    h.normed = carve(rest, rows() * shape_.width);
    h.logits = carve(rest, rows() * shape_.vocabulary);
    all_carved(rest);
    h.stats = carve(numbers, 2 * rows()), h.lse = numbers;
    return h;
  }
  void head_forward(Views w, const Memory& m) {
    const int u = last_unit();
    const Head h = head(m);
    run(LayerNorm{m.in, weight(w, u, 0), weight(w, u, 1), h.normed, h.stats, shape_.width,
                  shape_.epsilon});
    Model::head_forward(h.normed, weight(w, u, 2), h.logits, h.lse, shape_.width,
                        shape_.vocabulary);
  }
  void head_backward(Views w, Views g, const Memory& m) {
    const int u = last_unit();
    const Head h = head(m);
    Model::head_backward(h.normed, weight(w, u, 2), h.logits, h.lse, gradient(g, u, 2), narrow_,
                         shape_.width, shape_.vocabulary);
    run(Clear{grad_});
    run(LayerNormBackward{narrow_, m.in, weight(w, u, 0), h.stats, grad_, gradient(g, u, 0),
                          gradient(g, u, 1), shape_.width});
  }

  GptShape shape_;
  View grad_, wide_, narrow_;
};

}  // namespace

std::unique_ptr<Model> make_gpt(Rank& r, const GptShape& s, const Architecture& a,
                                const Options& o) {
  return std::make_unique<Gpt>(r, s, a, o);
}

}  // namespace shardmark
