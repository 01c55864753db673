// What is a Llama, as data? Parameters with their starts (normal 0.02, projections into the
// residual stream divided by sqrt(2 layers), as GPT-2's), and the products of each unit.
#include <fmt/format.h>

#include "impl/models/architecture_builder.hpp"
#include "impl/models/forms.hpp"

namespace shardmark {
namespace {

class Builder : ArchitectureBuilder {
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
  void embedding() {
    Unit u;
    u.name = "embedding";
    token_table_ = use(u, "embed.weight", s_.vocabulary * s_.width, bell(start));
    u.handed_on = s_.rows() * s_.width;
    u.backward_reads = false;
    add_embedding(u, s_.rows(), s_.width, s_.vocabulary, 0);
    keep(std::move(u));
  }

  void block(std::size_t i) {
    const std::size_t d = s_.width, m = s_.rows();
    const std::string at = fmt::format("h{}.", i);
    Unit u;
    u.name = fmt::format("block {}", i);
    use(u, at + "norm1.gain", d, constant(1));
    linear(u, at + "qkv", {.rows = m, .in = d, .out = s_.qkv(), .bias = s_.qkv_bias}, start);
    linear(u, at + "o",
           {.rows = m, .in = s_.attended(), .out = d, .bias = s_.o_bias, .residual = true},
           into_residual(s_.layers));
    use(u, at + "norm2.gain", d, constant(1));
    linear(u, at + "gate_up", {.rows = m, .in = d, .out = 2 * s_.inner, .bias = s_.mlp_bias},
           start);
    linear(u, at + "down",
           {.rows = m,
            .in = s_.inner,
            .out = d,
            .bias = s_.mlp_bias,
            .residual = true,
            .hands_on = true},
           into_residual(s_.layers));
    add_rms_norm(u, m, d);
    add_attention(u, {.batch = s_.batch,
                      .sequence = s_.sequence,
                      .heads = s_.heads,
                      .kv_heads = s_.kv_heads,
                      .head_dim = s_.head_dim});
    u.handed_on = m * d;
    u.activation = m * (3 * d + s_.qkv() + s_.attended() + 3 * s_.inner);
    u.statistics = 2 * m + s_.batch * s_.heads * s_.sequence;
    keep(std::move(u));
  }

  void head() {
    const std::size_t d = s_.width, m = s_.rows(), v = s_.vocabulary;
    Unit u;
    u.name = "head";
    use(u, "norm.gain", d, constant(1));
    const int table = head_table(u, s_.tied, token_table_, v * d);
    u.activation = m * d + m * v;
    u.statistics = 2 * m;
    add_rms_norm(u, m, d);
    add_head(u, m, d, v, table);
    keep(std::move(u));
  }

  const LlamaShape& s_;
  int token_table_ = 0;
};

}  // namespace

Architecture llama_architecture(const LlamaShape& s) { return Builder(s).build(); }

}  // namespace shardmark
