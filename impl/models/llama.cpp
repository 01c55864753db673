#include "impl/models/llama.hpp"

namespace shardmark {
namespace {

class Llama final : public Model {
 public:
  Llama(Rank& r, const LlamaShape& s, const Architecture& a, const Options& o)
      : Model(r, a, o), shape_(s), at_(s) {
    View rest = workspace_;
    grad_ = carve(rest, s.rows() * s.width);
    wide_ = carve(rest, s.rows() * s.widest());
    narrow_ = carve(rest, s.rows() * s.widest_narrow());
    all_carved(rest);
    Span span = queue_.begin(Phase::forward, 0, Event::none());
    run(RotaryTable{tables_, s.head_dim, s.theta, s.scaling});
    (void)span.end();
  }

 private:
  void run_forward(int u, Views w, const Memory& m) override {
    if (u == 0)
      run(Embed{tokens_, weight(w, 0, 0), {}, m.out, shape_.width, shape_.sequence});
    else if (u == last_unit())
      head_forward(w, m);
    else
      block_forward(u, w, m);
  }
  void run_backward(int u, Views w, Views g, const Memory& m) override {
    if (u == 0)
      run(EmbedBackward{tokens_, grad_, gradient(g, 0, 0), {}, shape_.width, shape_.sequence});
    else if (u == last_unit())
      head_backward(w, g, m);
    else
      block_backward(u, w, g, m);
  }

  // Where a block's parameters stand among those that it uses; a bias, if any, behind its weight.
  struct Places {
    explicit Places(const LlamaShape& s)
        : o(qkv + 1 + s.qkv_bias),
          norm2(o + 1 + s.o_bias),
          gate_up(norm2 + 1),
          down(gate_up + 1 + s.mlp_bias) {}
    std::size_t norm1 = 0, qkv = 1, o, norm2, gate_up, down;
  };
  ConstView bias(Views w, int u, std::size_t of, bool has) const {
    return has ? ConstView(weight(w, u, of + 1)) : ConstView();
  }
  // Of weight and bias, from the gradient of what they made.
  void gradients(Views g, int u, std::size_t of, bool has_bias, ConstView x, ConstView dy,
                 std::size_t from, std::size_t to) {
    if (has_bias) bias_gradient(dy, gradient(g, u, of + 1));
    weight_gradient(x, dy, gradient(g, u, of), from, to);
  }
  void rotate(View qkv, bool back) {
    run(Rotary{qkv, tables_, shape_.sequence, shape_.heads + shape_.kv_heads, shape_.head_dim,
               shape_.qkv(), back});
  }
  View narrow(std::size_t width) const { return narrow_.slice({0, rows() * width}); }
  View wide(std::size_t width) const { return wide_.slice({0, rows() * width}); }

  // What a block keeps for its backward, as views into its memory.
  struct Block {
    View h1, qkv, attended, middle, h2, gate_up, gated;
    View stats1, stats2, lse;
  };
  Block block(const Memory& m) const {
    const std::size_t md = rows() * shape_.width;
    View rest = m.activation;
    Block b;
    b.h1 = carve(rest, md), b.qkv = carve(rest, rows() * shape_.qkv());
    b.attended = carve(rest, rows() * shape_.attended()), b.middle = carve(rest, md);
    b.h2 = carve(rest, md), b.gate_up = carve(rest, rows() * 2 * shape_.inner);
    b.gated = carve(rest, rows() * shape_.inner);
    all_carved(rest);
    rest = m.statistics;
    b.stats1 = carve(rest, rows()), b.stats2 = carve(rest, rows()), b.lse = rest;
    return b;
  }

  void block_forward(int u, Views w, const Memory& m) {
    const LlamaShape& s = shape_;
    const std::size_t d = s.width;
    const Block b = block(m);
    run(RmsNorm{m.in, weight(w, u, at_.norm1), b.h1, b.stats1, d, s.epsilon});
    linear(b.h1, weight(w, u, at_.qkv), bias(w, u, at_.qkv, s.qkv_bias), {}, b.qkv, d, s.qkv());
    rotate(b.qkv, false);
    run(Attention{b.qkv, b.attended, b.lse, s.batch, s.sequence, s.heads, s.kv_heads, s.head_dim});
    linear(b.attended, weight(w, u, at_.o), bias(w, u, at_.o, s.o_bias), m.in, b.middle,
           s.attended(), d);
    run(RmsNorm{b.middle, weight(w, u, at_.norm2), b.h2, b.stats2, d, s.epsilon});
    linear(b.h2, weight(w, u, at_.gate_up), bias(w, u, at_.gate_up, s.mlp_bias), {}, b.gate_up, d,
           2 * s.inner);
    run(Swiglu{b.gate_up, b.gated, s.inner});
    if (m.out)
      linear(b.gated, weight(w, u, at_.down), bias(w, u, at_.down, s.mlp_bias), b.middle, m.out,
             s.inner, d);
  }

  // grad_ is the gradient of the residual stream: of this block's output before, of its input
  // after.
  void block_backward(int u, Views w, Views g, const Memory& m) {
    const Block b = block(m);
    mlp_backward(u, w, g, b);
    attention_backward(u, w, g, m, b);
  }
  void mlp_backward(int u, Views w, Views g, const Block& b) {
    const std::size_t d = shape_.width, inner = shape_.inner;
    const bool has_bias = shape_.mlp_bias;
    const View dgate_up = wide(2 * inner), dgated = narrow(inner), dh2 = narrow(d);
    gradients(g, u, at_.down, has_bias, b.gated, grad_, inner, d);
    input_gradient(grad_, weight(w, u, at_.down), dgated, inner, d);
    run(SwigluBackward{b.gate_up, dgated, dgate_up, inner});
    gradients(g, u, at_.gate_up, has_bias, b.h2, dgate_up, d, 2 * inner);
    input_gradient(dgate_up, weight(w, u, at_.gate_up), dh2, d, 2 * inner);
    run(RmsNormBackward{dh2, b.middle, weight(w, u, at_.norm2), b.stats2, grad_,
                        gradient(g, u, at_.norm2), d});
  }
  void attention_backward(int u, Views w, Views g, const Memory& m, const Block& b) {
    const LlamaShape& s = shape_;
    const std::size_t d = s.width;
    const View dqkv = wide(s.qkv()), dattended = narrow(s.attended()), dh1 = narrow(d);
    gradients(g, u, at_.o, s.o_bias, b.attended, grad_, s.attended(), d);
    input_gradient(grad_, weight(w, u, at_.o), dattended, s.attended(), d);
    run(AttentionBackward{b.qkv,
                          b.attended,
                          b.lse,
                          dattended,
                          dqkv,
                          s.batch,
                          s.sequence,
                          s.heads,
                          s.kv_heads,
                          s.head_dim,
                          {}});
    rotate(dqkv, true);
    gradients(g, u, at_.qkv, s.qkv_bias, b.h1, dqkv, d, s.qkv());
    input_gradient(dqkv, weight(w, u, at_.qkv), dh1, d, s.qkv());
    run(RmsNormBackward{dh1, m.in, weight(w, u, at_.norm1), b.stats1, grad_,
                        gradient(g, u, at_.norm1), d});
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
    h.stats = carve(numbers, rows()), h.lse = numbers;
    return h;
  }
  void head_forward(Views w, const Memory& m) {
    const int u = last_unit();
    const Head h = head(m);
    run(RmsNorm{m.in, weight(w, u, 0), h.normed, h.stats, shape_.width, shape_.epsilon});
    Model::head_forward(h.normed, weight(w, u, 1), h.logits, h.lse, shape_.width,
                        shape_.vocabulary);
  }
  void head_backward(Views w, Views g, const Memory& m) {
    const int u = last_unit();
    const Head h = head(m);
    const View dnormed = narrow(shape_.width);
    Model::head_backward(h.normed, weight(w, u, 1), h.logits, h.lse, gradient(g, u, 1), dnormed,
                         shape_.width, shape_.vocabulary);
    run(Clear{grad_});
    run(RmsNormBackward{dnormed, m.in, weight(w, u, 0), h.stats, grad_, gradient(g, u, 0),
                        shape_.width});
  }

  LlamaShape shape_;
  Places at_;
  View grad_, wide_, narrow_;
};

}  // namespace

std::unique_ptr<Model> make_llama(Rank& r, const LlamaShape& s, const Architecture& a,
                                  const Options& o) {
  return std::make_unique<Llama>(r, s, a, o);
}

}  // namespace shardmark
