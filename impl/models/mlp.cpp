#include "impl/models/mlp.hpp"

#include <fmt/format.h>

#include <cmath>

namespace shardmark {

Architecture mlp_architecture(const MlpShape& s) {
  Architecture a;
  a.name = fmt::format("mlp:layers={},width={}", s.layers, s.width);
  a.rows = s.rows();
  a.workspace = 2 * s.rows() * s.width;  // the gradient of one layer's input and of the next
  for (std::size_t i = 0; i < s.layers; ++i) {
    const std::size_t in = s.width, out = s.out(i), m = s.rows();
    // The first layer's input has `context` ones a row; the others' about as many of variance one
    // as they are wide.
    const double fan_in = static_cast<double>(i == 0 ? MlpShape::context : in);
    Unit u;
    u.name = fmt::format("layer {}", i);
    const int w = static_cast<int>(a.parameters.size());
    a.parameters.push_back({fmt::format("l{}.weight", i),
                            in * out,
                            {Init::Kind::bell, static_cast<float>(1 / std::sqrt(fan_in))}});
    a.parameters.push_back({fmt::format("l{}.bias", i), out, {}});
    u.uses = {w, w + 1};
    u.forward = {{m, out, in, false, false, false, true, false, 1, false}};
    u.backward = {{in, out, m, true, false, true, false, false, 1, false}};
    if (i > 0) u.backward.push_back({m, in, out, false, true, false, false, false, 1, false});
    u.activation = m * ((i == 0 ? in : 0) + (i + 1 == s.layers ? out : 2 * out));
    u.statistics = i + 1 == s.layers ? m : 0;
    a.units.push_back(std::move(u));
  }
  return a;
}

namespace {

class Mlp final : public Model {
 public:
  Mlp(Rank& r, const MlpShape& s, const Architecture& a, const Options& o)
      : Model(r, a, o), shape_(s), layers_(s.layers) {
    View rest = workspace_;
    grads_[0] = carve(rest, s.rows() * s.width);
    grads_[1] = carve(rest, s.rows() * s.width);
    all_carved(rest);
  }

  Event forward(int u, Views w, Event after) override {
    const auto i = static_cast<std::size_t>(u);
    const bool last = i + 1 == shape_.layers;
    Layer& layer = layers_[i];
    layer.kept = activation(u);
    layer.statistics = statistics(u);
    View rest = layer.kept.view();
    layer.in = i == 0 ? carve(rest, rows() * shape_.width) : layers_[i - 1].out;
    layer.before = carve(rest, rows() * shape_.out(i));
    if (!last) layer.out = carve(rest, rows() * shape_.width);
    all_carved(rest);
    Span span = queue_.begin(Phase::forward, u, after);
    if (i == 0) run(OneHot{tokens_, layer.in, shape_.width, shape_.sequence, MlpShape::context});
    Matmul m;
    m.a = layer.in, m.b = weight(w, u, 0), m.bias = weight(w, u, 1), m.c = layer.before;
    m.m = rows(), m.n = shape_.out(i), m.k = shape_.width;
    product(m);
    if (last)
      run(CrossEntropy{layer.before, targets_, layer.statistics.view(), losses_.view(),
                       shape_.vocabulary, step_, micro_scale()});
    else
      run(Gelu{layer.before, layer.out});
    return span.end();
  }

  Event backward(int u, Views w, Views g, Event after) override {
    const auto i = static_cast<std::size_t>(u);
    const bool last = i + 1 == shape_.layers;
    Layer& layer = layers_[i];
    const View dw = gradient(g, u, 0), db = gradient(g, u, 1);
    const View grad = last ? layer.before : grads_[i % 2];
    Span span = queue_.begin(Phase::backward, u, after);
    if (last) {
      run(CrossEntropyBackward{targets_, layer.statistics.view(), grad, shape_.vocabulary,
                               micro_scale()});
      if (db) run(ColumnSum{grad, db});
    } else {
      run(GeluBackward{layer.before, grad, db, shape_.out(i)});
    }
    Matmul m;
    if (dw) {
      m.a = layer.in, m.b = grad, m.c = dw, m.m = shape_.width, m.n = shape_.out(i), m.k = rows(),
      m.ta = true, m.adds = true;
      product(m);
    }
    if (i > 0) {
      m = {};
      m.a = grad, m.b = weight(w, u, 0), m.c = grads_[(i - 1) % 2], m.m = rows(),
      m.n = shape_.width, m.k = shape_.out(i), m.tb = true;
      product(m);
    }
    const Event done = span.end();
    layer.kept.give_back(done);
    layer.statistics.give_back(done);
    return done;
  }

 private:
  struct Layer {
    Buffer kept, statistics;
    View in, before, out;  // (rows, in), (rows, out) before GELU and after
  };

  MlpShape shape_;
  std::vector<Layer> layers_;
  View grads_[2];
};

}  // namespace

std::unique_ptr<Model> make_mlp(Rank& r, const MlpShape& s, const Architecture& a,
                                const Options& o) {
  return std::make_unique<Mlp>(r, s, a, o);
}

}  // namespace shardmark
