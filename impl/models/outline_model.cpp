#include "impl/models/outline_model.hpp"

#include <algorithm>
#include <cmath>

namespace shardmark {
namespace {

class OutlineModel final : public Model {
 public:
  OutlineModel(Rank& r, const Architecture& a, const Options& o)
      : Model(r, a, o), type_(o.precision.parameter) {}

 private:
  const Unit& unit(int u) const { return architecture_.units[static_cast<std::size_t>(u)]; }

  // A product of several tiles, or of half a one, is one that is so many times as high.
  void multiply(const Product& p) {
    Product all = p;
    all.m = std::max<std::size_t>(
        1, static_cast<std::size_t>(std::llround(static_cast<double>(p.m) * p.times)));
    if (p.attention)
      queue_.run(tiles_of(all));
    else
      queue_.run(all.shape(type_));
  }

  // An attention of as many operations: its two products over sequences of one are 2 batch heads
  // head_dim. Of a tile only the narrow sides move through memory, the square one never does.
  Attention tiles_of(const Product& p) const {
    Attention o;
    o.qkv = o.out = nowhere(p.m * std::min(p.n, p.k), type_);
    o.batch = p.m, o.sequence = 1, o.heads = o.kv_heads = p.n, o.head_dim = p.k;
    return o;
  }

  // What is kept for backward is written by forward and read by backward, once each.
  void pass_over(const Memory& m) {
    for (const View& v : {m.out, m.activation, m.statistics})
      if (v) queue_.run(Clear{v});
  }

  void run_forward(int u, Views w, const Memory& m) override {
    for (std::size_t i = 0; i < unit(u).uses.size(); ++i) (void)weight(w, u, i);
    for (const Product& p : unit(u).forward)
      if (m.out || !p.hands_on) multiply(p);
    pass_over(m);
  }

  void run_backward(int u, Views, Views, const Memory& m) override {
    for (const Product& p : unit(u).backward)
      if (p.gradient_of < 0 || !is_frozen(options_, p.gradient_of)) multiply(p);
    pass_over(m);
  }

  DType type_;
};

}  // namespace

std::unique_ptr<Model> outline_model(Rank& r, const Architecture& a, const Options& o) {
  return std::make_unique<OutlineModel>(r, a, o);
}

}  // namespace shardmark
