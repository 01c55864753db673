#include "impl/models/forms.hpp"

#include <fmt/format.h>

#include <cmath>

#include "impl/models/products.hpp"

namespace shardmark {

Architecture mlp_architecture(const MlpShape& s) {
  Architecture a;
  a.name = form_of(s);
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
    const bool last = i + 1 == s.layers;
    add_linear(
        u, {.rows = m, .in = in, .out = out, .weight = w, .bias = true, .input_gradient = i > 0});
    u.backward_reads = i > 0;
    u.handed_on = last ? 0 : m * out;
    u.activation = m * ((i == 0 ? in : 0) + out);
    u.statistics = last ? m : 0;
    a.units.push_back(std::move(u));
  }
  return a;
}

namespace {

class Mlp final : public Model {
 public:
  Mlp(Rank& r, const MlpShape& s, const Architecture& a, const Options& o)
      : Model(r, a, o), shape_(s) {
    View rest = workspace_;
    grads_[0] = carve(rest, s.rows() * s.width);
    grads_[1] = carve(rest, s.rows() * s.width);
    all_carved(rest);
  }

 private:
  struct Layer {
    ConstView in;  // (rows, width)
    View one_hot;  // the first layer's
    View before;   // (rows, out), GELU not yet taken
  };
  Layer layer(int u, const Memory& m) const {
    Layer l;
    View rest = m.activation;
    if (u == 0) l.one_hot = carve(rest, rows() * shape_.width);
    l.in = u == 0 ? ConstView(l.one_hot) : m.in;
    l.before = carve(rest, rows() * shape_.out(static_cast<std::size_t>(u)));
    all_carved(rest);
    return l;
  }

  void run_forward(int u, Views w, const Memory& m) override {
    const Layer l = layer(u, m);
    if (u == 0) run(OneHot{tokens_, l.one_hot, shape_.width, shape_.sequence, MlpShape::context});
    linear(l.in, weight(w, u, 0), weight(w, u, 1), {}, l.before, shape_.width,
           shape_.out(static_cast<std::size_t>(u)));
    if (u == last_unit())
      run(CrossEntropy{l.before, targets_, m.statistics, losses_.view(), shape_.vocabulary, step_,
                       micro_scale()});
    else if (m.out)
      run(Gelu{l.before, m.out});
  }

  void run_backward(int u, Views w, Views g, const Memory& m) override {
    const std::size_t out = shape_.out(static_cast<std::size_t>(u));
    const Layer l = layer(u, m);
    const View grad = u == last_unit() ? l.before : grads_[u % 2];
    if (u == last_unit()) {
      run(CrossEntropyBackward{targets_, m.statistics, grad, shape_.vocabulary, micro_scale(),
                               control_});
      bias_gradient(grad, gradient(g, u, 1));
    } else {
      run(GeluBackward{l.before, grad, gradient(g, u, 1), out});
    }
    weight_gradient(l.in, grad, gradient(g, u, 0), shape_.width, out);
    if (u > 0) input_gradient(grad, weight(w, u, 0), grads_[(u - 1) % 2], shape_.width, out);
  }

  MlpShape shape_;
  View grads_[2];
};

}  // namespace

std::unique_ptr<Model> make_mlp(Rank& r, const MlpShape& s, const Architecture& a,
                                const Options& o) {
  return std::make_unique<Mlp>(r, s, a, o);
}

}  // namespace shardmark
