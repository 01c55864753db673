// What is a Llama, as data? Parameters with their starts (normal 0.02, projections into the
// residual stream divided by sqrt(2 layers), as GPT-2's), and the products of each unit.
#include <fmt/format.h>

#include <cmath>

#include "impl/models/forms.hpp"
#include "impl/models/products.hpp"

namespace shardmark {
namespace {

class Builder {
 public:
  explicit Builder(const LlamaShape& s) : s_(s) {}

  Architecture build() {
    a_.name = form_of(s_);
    a_.rows = s_.rows();
    // Gradients: of the residual stream, a wide one, a narrow one.
    a_.workspace = a_.rows * (s_.width + s_.widest() + s_.widest_narrow());
    a_.tables = s_.sequence * s_.head_dim;
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
    token_table_ = parameter("embed.weight", s_.vocabulary * s_.width, bell(0.02));
    u.uses = {token_table_};
    u.handed_on = s_.rows() * s_.width;
    u.backward_reads = false;
    add_embedding(u, s_.rows(), s_.width, s_.vocabulary, 0);
    a_.units.push_back(std::move(u));
  }

  void block(std::size_t i) {
    const std::size_t d = s_.width, m = s_.rows();
    const std::string at = fmt::format("h{}.", i);
    const double into_residual = 0.02 / std::sqrt(2.0 * static_cast<double>(s_.layers));
    Unit u;
    u.name = fmt::format("block {}", i);
    const auto add = [&](const std::string& name, std::size_t size, Init init) {
      u.uses.push_back(parameter(at + name, size, init));
      return u.uses.back();
    };
    const auto linear = [&](const std::string& name, std::size_t in, std::size_t out, double scale,
                            bool bias, bool residual, bool hands_on) {
      const int weight = add(name + ".weight", in * out, bell(scale));
      if (bias) add(name + ".bias", out, constant(0));
      add_linear(u, {m, in, out, weight, bias, residual, hands_on});
    };
    add("norm1.gain", d, constant(1));
    linear("qkv", d, s_.qkv(), 0.02, s_.qkv_bias, false, false);
    linear("o", s_.attended(), d, into_residual, s_.o_bias, true, false);
    add("norm2.gain", d, constant(1));
    linear("gate_up", d, 2 * s_.inner, 0.02, s_.mlp_bias, false, false);
    linear("down", s_.inner, d, into_residual, s_.mlp_bias, true, true);
    add_rms_norm(u, m, d);
    add_attention(u, s_.batch, s_.sequence, s_.heads, s_.kv_heads, s_.head_dim);
    u.handed_on = m * d;
    u.activation = m * (3 * d + s_.qkv() + s_.attended() + 3 * s_.inner);
    u.statistics = 2 * m + s_.batch * s_.heads * s_.sequence;
    a_.units.push_back(std::move(u));
  }

  void head() {
    const std::size_t d = s_.width, m = s_.rows(), v = s_.vocabulary;
    Unit u;
    u.name = "head";
    u.uses = {parameter("norm.gain", d, constant(1))};
    u.uses.push_back(s_.tied ? token_table_ : parameter("head.weight", v * d, bell(0.02)));
    u.activation = m * d + m * v;
    u.statistics = 2 * m;
    add_rms_norm(u, m, d);
    add_head(u, m, d, v, u.uses.back());
    a_.units.push_back(std::move(u));
  }

  const LlamaShape& s_;
  Architecture a_;
  int token_table_ = 0;
};

}  // namespace

Architecture llama_architecture(const LlamaShape& s) { return Builder(s).build(); }

}  // namespace shardmark
