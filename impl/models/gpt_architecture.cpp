// What is a GPT, as data? Parameters with their starts (GPT-2's: normal 0.02, projections into the
// residual stream divided by sqrt(2 layers)), and the products of each unit.
#include <fmt/format.h>

#include <cmath>

#include "impl/models/gpt.hpp"

namespace shardmark {
namespace {

class Builder {
 public:
  explicit Builder(const GptShape& s) : s_(s) {}

  Architecture build() {
    a_.name = fmt::format("gpt:layers={},width={},heads={},tied={}", s_.layers, s_.width, s_.heads,
                          s_.tied ? 1 : 0);
    a_.rows = s_.rows();
    a_.workspace =
        6 * a_.rows * s_.width;  // gradients: the residual stream, a wide one (4), a narrow one
    embedding();
    for (std::size_t i = 0; i < s_.layers; ++i) block(i);
    head();
    return std::move(a_);
  }

 private:
  int parameter(std::string name, std::size_t size, Init init) {
    a_.parameters.push_back({std::move(name), size, init});
    return static_cast<int>(a_.parameters.size()) - 1;
  }
  static Init bell(double scale) { return {Init::Kind::bell, static_cast<float>(scale)}; }
  static Init constant(float value) { return {Init::Kind::constant, value}; }

  void embedding() {
    Unit u;
    u.name = "embedding";
    token_table_ = parameter("wte", s_.vocabulary * s_.width, bell(0.02));
    u.uses = {token_table_, parameter("wpe", s_.sequence * s_.width, bell(0.01))};
    u.activation = s_.rows() * s_.width;
    a_.units.push_back(std::move(u));
  }

  void block(std::size_t i) {
    const std::size_t d = s_.width, m = s_.rows(), t = s_.sequence, h = s_.head_dim();
    const std::string at = fmt::format("h{}.", i);
    const double into_residual = 0.02 / std::sqrt(2.0 * static_cast<double>(s_.layers));
    Unit u;
    u.name = fmt::format("block {}", i);
    const auto add = [&](const char* name, std::size_t size, Init init) {
      u.uses.push_back(parameter(at + name, size, init));
    };
    add("ln1.gain", d, constant(1)), add("ln1.bias", d, constant(0));
    add("qkv.weight", d * 3 * d, bell(0.02)), add("qkv.bias", 3 * d, constant(0));
    add("proj.weight", d * d, bell(into_residual)), add("proj.bias", d, constant(0));
    add("ln2.gain", d, constant(1)), add("ln2.bias", d, constant(0));
    add("fc.weight", d * 4 * d, bell(0.02)), add("fc.bias", 4 * d, constant(0));
    add("out.weight", 4 * d * d, bell(into_residual)), add("out.bias", d, constant(0));
    u.activation = 16 * m * d;
    u.statistics = 4 * m + s_.batch * s_.heads * t;

    const double tiles =
        static_cast<double>(s_.batch * s_.heads) / 2;  // half lies above the diagonal
    const auto forward = [&](std::size_t in, std::size_t out, bool residual) {
      u.forward.push_back({m, out, in, false, false, false, true, residual, 1, false});
      u.backward.push_back({in, out, m, true, false, true, false, false, 1, false});
      u.backward.push_back({m, in, out, false, true, false, false, false, 1, false});
    };
    const auto tile = [&](std::vector<Product>& to, std::size_t n, std::size_t k, bool ta,
                          bool tb) {
      to.push_back({t, n, k, ta, tb, false, false, false, tiles, true});
    };
    forward(d, 3 * d, false), forward(d, d, true), forward(d, 4 * d, false),
        forward(4 * d, d, true);
    tile(u.forward, t, h, false, true), tile(u.forward, h, t, false, false);    // q k^T, p v
    tile(u.backward, h, t, true, false), tile(u.backward, t, h, false, true);   // dv, dp
    tile(u.backward, h, t, false, false), tile(u.backward, h, t, true, false);  // dq, dk
    a_.units.push_back(std::move(u));
  }

  void head() {
    const std::size_t d = s_.width, m = s_.rows(), v = s_.vocabulary;
    Unit u;
    u.name = "head";
    u.uses = {parameter("lnf.gain", d, constant(1)), parameter("lnf.bias", d, constant(0))};
    u.uses.push_back(s_.tied ? token_table_ : parameter("head.weight", v * d, bell(0.02)));
    u.activation = m * d + m * v;
    u.statistics = 3 * m;
    u.forward = {{m, v, d, false, true, false, false, false, 1, false}};
    u.backward = {{v, d, m, true, false, true, false, false, 1, false},
                  {m, d, v, false, false, false, false, false, 1, false}};
    a_.units.push_back(std::move(u));
  }

  const GptShape& s_;
  Architecture a_;
  int token_table_ = 0;
};

}  // namespace

Architecture gpt_architecture(const GptShape& s) { return Builder(s).build(); }

}  // namespace shardmark
