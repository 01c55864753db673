// What is a GPT, as data? Parameters with their starts (GPT-2's: normal 0.02, projections into the
// residual stream divided by sqrt(2 layers)), and the products of each unit.
#include <fmt/format.h>

#include "impl/models/architecture_builder.hpp"
#include "impl/models/forms.hpp"

namespace shardmark {
namespace {

class Builder : ArchitectureBuilder {
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
  void embedding() {
    Unit u;
    u.name = "embedding";
    token_table_ = use(u, "wte", s_.vocabulary * s_.width, bell(start));
    use(u, "wpe", s_.positions * s_.width, bell(0.01));
    u.handed_on = s_.rows() * s_.width;
    u.backward_reads = false;
    add_embedding(u, s_.rows(), s_.width, s_.vocabulary, s_.sequence);
    keep(std::move(u));
  }

  void block(std::size_t i) {
    const std::size_t d = s_.width, m = s_.rows(), inner = s_.inner;
    const std::string at = fmt::format("h{}.", i);
    Unit u;
    u.name = fmt::format("block {}", i);
    norm(u, at + "ln1");
    linear(u, at + "qkv", {.rows = m, .in = d, .out = 3 * d, .bias = true}, start);
    linear(u, at + "proj", {.rows = m, .in = d, .out = d, .bias = true, .residual = true},
           into_residual(s_.layers));
    norm(u, at + "ln2");
    linear(u, at + "fc", {.rows = m, .in = d, .out = inner, .bias = true}, start);
    linear(u, at + "out",
           {.rows = m, .in = inner, .out = d, .bias = true, .residual = true, .hands_on = true},
           into_residual(s_.layers));
    add_layer_norm(u, m, d);
    add_attention(u, {.batch = s_.batch,
                      .sequence = s_.sequence,
                      .heads = s_.heads,
                      .kv_heads = s_.heads,
                      .head_dim = s_.head_dim()});
    u.handed_on = m * d;
    u.activation = 7 * m * d + 2 * m * inner;
    u.statistics = 4 * m + s_.batch * s_.heads * s_.sequence;
    keep(std::move(u));
  }

  void norm(Unit& u, const std::string& name) {
    use(u, name + ".gain", s_.width, constant(1));
    use(u, name + ".bias", s_.width, constant(0));
  }

  void head() {
    const std::size_t d = s_.width, m = s_.rows(), v = s_.vocabulary;
    Unit u;
    u.name = "head";
    norm(u, "lnf");
    const int table = head_table(u, s_.tied, token_table_, v * d);
    u.activation = m * d + m * v;
    u.statistics = 3 * m;
    add_layer_norm(u, m, d);
    add_head(u, m, d, v, table);
    keep(std::move(u));
  }

  const GptShape& s_;
  int token_table_ = 0;
};

}  // namespace

Architecture gpt_architecture(const GptShape& s) { return Builder(s).build(); }

}  // namespace shardmark
