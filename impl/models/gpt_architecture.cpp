// What is a GPT, as data? Parameters with their starts (GPT-2's: normal 0.02, projections into the
// residual stream divided by sqrt(2 layers)), and the products of each unit.
#include <fmt/format.h>

#include <cmath>

#include "impl/models/forms.hpp"
#include "impl/models/products.hpp"

namespace shardmark {
namespace {

class Builder {
 public:
  explicit Builder(const GptShape& s) : s_(s) {}

  Architecture build() {
    a_.name = form_of(s_);
    a_.rows = s_.rows();
    // Gradients: of the residual stream, a wide one, a narrow one.
    a_.workspace = a_.rows * (2 * s_.width + std::max(s_.inner, 3 * s_.width));
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
    u.uses = {token_table_, parameter("wpe", s_.positions * s_.width, bell(0.01))};
    u.handed_on = s_.rows() * s_.width;
    u.backward_reads = false;
    add_embedding(u, s_.rows(), s_.width, s_.vocabulary, s_.sequence);
    a_.units.push_back(std::move(u));
  }

  void block(std::size_t i) {
    const std::size_t d = s_.width, m = s_.rows(), inner = s_.inner;
    const std::string at = fmt::format("h{}.", i);
    const double into_residual = 0.02 / std::sqrt(2.0 * static_cast<double>(s_.layers));
    Unit u;
    u.name = fmt::format("block {}", i);
    const auto add = [&](const char* name, std::size_t size, Init init) {
      u.uses.push_back(parameter(at + name, size, init));
      return u.uses.back();
    };
    const auto linear = [&](const char* name, std::size_t in, std::size_t out, double scale,
                            bool residual, bool hands_on) {
      const int weight = add(fmt::format("{}.weight", name).c_str(), in * out, bell(scale));
      add(fmt::format("{}.bias", name).c_str(), out, constant(0));
      add_linear(u, {m, in, out, weight, true, residual, hands_on});
    };
    add("ln1.gain", d, constant(1)), add("ln1.bias", d, constant(0));
    linear("qkv", d, 3 * d, 0.02, false, false);
    linear("proj", d, d, into_residual, true, false);
    add("ln2.gain", d, constant(1)), add("ln2.bias", d, constant(0));
    linear("fc", d, inner, 0.02, false, false);
    linear("out", inner, d, into_residual, true, true);
    add_layer_norm(u, m, d);
    add_attention(u, s_.batch, s_.sequence, s_.heads, s_.heads, s_.head_dim());
    u.handed_on = m * d;
    u.activation = 7 * m * d + 2 * m * inner;
    u.statistics = 4 * m + s_.batch * s_.heads * s_.sequence;
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
    add_layer_norm(u, m, d);
    add_head(u, m, d, v, u.uses.back());
    a_.units.push_back(std::move(u));
  }

  const GptShape& s_;
  Architecture a_;
  int token_table_ = 0;
};

}  // namespace

Architecture gpt_architecture(const GptShape& s) { return Builder(s).build(); }

}  // namespace shardmark
