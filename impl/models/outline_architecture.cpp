// What is a transformer that is only outlined, as data? Parameters named as our own models name
// them, with their starts, the products of each unit, and what it keeps for backward.
#include <fmt/format.h>

#include <algorithm>

#include "impl/models/architecture_builder.hpp"
#include "impl/models/figures.hpp"
#include "impl/models/outline.hpp"

namespace shardmark {
namespace {

class Builder : ArchitectureBuilder {
 public:
  explicit Builder(const TransformerOutline& o) : o_(o), d_(o.width), m_(o.rows()) {}

  std::optional<Architecture> build() {
    a_.name = fmt::format("{}:layers={},width={},heads={},inner={},vocabulary={}", o_.family,
                          o_.layers, o_.width, o_.heads, o_.inner, o_.vocabulary);
    a_.rows = m_;
    embedding();
    for (std::size_t i = 0; i < o_.layers && count_ <= most_parameters; ++i) block(i);
    o_.encoder ? pooler() : head();
    if (count_ > most_parameters) return {};
    // Gradients, as our own models hold them: of the residual stream, a wide one, a narrow one.
    a_.workspace = m_ * (d_ + wide_ + narrow_);
    a_.tables = o_.sequence * o_.rotary + (o_.slopes ? o_.heads : 0);
    return std::move(a_);
  }

 private:
  void add(Unit u) {
    for (const int p : u.uses)
      if (p >= first_uncounted_) count_ += static_cast<double>(a_.parameters[p].size);
    first_uncounted_ = static_cast<int>(a_.parameters.size());
    keep(std::move(u));
  }

  // `times`: as often for each row, of each head's features.
  void norm(Unit& u, const std::string& name, std::size_t width, std::size_t times = 1) {
    use(u, name + ".gain", width, constant(1));
    if (!o_.rms) use(u, name + ".bias", width, constant(0));
    u.statistics += (o_.rms ? 1 : 2) * m_ * times;
    o_.rms ? add_rms_norm(u, m_ * times, width) : add_layer_norm(u, m_ * times, width);
  }

  void embedding() {
    Unit u;
    u.name = "embedding";
    const std::size_t width = o_.table_width > 0 ? o_.table_width : d_;
    token_table_ = use(u, "embed.weight", o_.vocabulary * width, bell(start));
    if (o_.position_rows > 0) use(u, "positions.weight", o_.position_rows * d_, bell(0.01));
    if (o_.types > 0) use(u, "types.weight", o_.types * d_, bell(start));
    add_embedding(u, m_, width, o_.vocabulary, o_.position_rows > 0 ? o_.sequence : 0);
    u.backward_reads = width != d_ || o_.embedding_norm;
    if (width != d_) {
      linear(u, "project_in", {.rows = m_, .in = width, .out = d_}, start);
      u.activation += m_ * width;
    }
    if (o_.embedding_norm) {
      norm(u, "embed_norm", d_);
      u.activation += m_ * d_;
    }
    u.handed_on = m_ * d_;
    add(std::move(u));
  }

  void block(std::size_t i) {
    Unit u;
    u.name = fmt::format("block {}", i);
    u.handed_on = m_ * d_;
    const std::string at = fmt::format("h{}.", i);
    const auto one = [&](int number) { norm(u, fmt::format("{}norm{}", at, number), d_); };
    if (o_.norms != NormPlaces::after) one(1);
    if (o_.norms == NormPlaces::apart) one(2);
    o_.latent.rank > 0 ? latent_attention(u, at, i) : attention(u, at, i);
    if (o_.norms == NormPlaces::after) one(1);
    if (o_.norms == NormPlaces::before || o_.norms == NormPlaces::around) one(2);
    if (o_.norms == NormPlaces::around) one(3);
    o_.experts.in_layer(i) ? experts(u, at) : mlp(u, at, o_.inner);
    if (o_.norms == NormPlaces::after) one(2);
    if (o_.norms == NormPlaces::around) one(4);
    u.activation += m_ * d_ * narrow_results();
    add(std::move(u));
  }

  // How many results of norms and sums of the residual stream are kept beside what is handed on.
  std::size_t narrow_results() const {
    switch (o_.norms) {
      case NormPlaces::shared:
        return 1;  // the norm
      case NormPlaces::apart:
        return 2;  // both norms
      case NormPlaces::around:
        return 5;               // two norms, what the other two read, the sum between
      case NormPlaces::before:  // both norms, the sum between
      case NormPlaces::after:
        break;  // both sums, the norm between
    }
    return 3;
  }
  bool adds_to_residual() const { return o_.norms != NormPlaces::around; }
  bool hands_on() const { return adds_to_residual() && o_.norms != NormPlaces::after; }

  // The share of all pairs of tokens that layer i's attention looks at.
  double share(std::size_t i) const {
    if (o_.encoder) return 1;
    const std::size_t window = i < o_.windows.size() ? o_.windows[i] : 0;
    if (window == 0 || window >= o_.sequence) return 0.5;
    const double w = static_cast<double>(window) / static_cast<double>(o_.sequence);
    return w * (1 - w / 2);
  }

  void attend(Unit& u, const std::string& at, std::size_t i, AttentionShape shape) {
    shape.batch = o_.batch, shape.sequence = o_.sequence, shape.heads = o_.heads;
    shape.share = share(i);
    add_attention(u, shape);
    u.statistics += o_.batch * o_.heads * o_.sequence;  // log-sum-exp
    u.activation += m_ * o_.attended();
    narrow_ = std::max({narrow_, d_, o_.attended()});
    linear(u, at + "o",
           {.rows = m_,
            .in = o_.attended(),
            .out = d_,
            .bias = o_.o_bias,
            .residual = adds_to_residual()},
           into_residual(o_.layers));
  }

  void attention(Unit& u, const std::string& at, std::size_t i) {
    linear(u, at + "qkv", {.rows = m_, .in = d_, .out = o_.qkv(), .bias = o_.qkv_bias}, start);
    u.activation += m_ * o_.qkv();
    wide_ = std::max(wide_, o_.qkv());
    if (o_.query_key_norm) {
      norm(u, at + "q_norm", o_.head_dim, o_.heads);
      norm(u, at + "k_norm", o_.head_dim, o_.kv_heads);
      u.activation += m_ * (o_.heads + o_.kv_heads) * o_.head_dim;
    }
    attend(u, at, i, {.kv_heads = o_.kv_heads, .head_dim = o_.head_dim});
  }

  void latent_attention(Unit& u, const std::string& at, std::size_t i) {
    const LatentOutline& l = o_.latent;
    const std::size_t queries = o_.heads * l.head_dim(), values = o_.heads * l.value;
    std::size_t in = d_;
    if (l.query_rank > 0) {
      linear(u, at + "q_down", {.rows = m_, .in = d_, .out = l.query_rank, .bias = o_.qkv_bias},
             start);
      norm(u, at + "q_norm", l.query_rank);
      u.activation += m_ * 2 * l.query_rank;
      in = l.query_rank;
    }
    linear(u, at + "q", {.rows = m_, .in = in, .out = queries}, start);
    linear(u, at + "kv_down", {.rows = m_, .in = d_, .out = l.rank + l.rotary, .bias = o_.qkv_bias},
           start);
    norm(u, at + "kv_norm", l.rank);
    linear(u, at + "kv", {.rows = m_, .in = l.rank, .out = o_.heads * l.plain + values}, start);
    // The keys' rotary part is one for all heads, but stands with each of them for attention.
    const std::size_t qkv = 2 * queries + values;
    u.activation += m_ * (qkv + 2 * l.rank + l.rotary);
    wide_ = std::max(wide_, qkv);
    attend(u, at, i, {.kv_heads = o_.heads, .head_dim = l.head_dim(), .value_dim = l.value});
  }

  void mlp(Unit& u, const std::string& at, std::size_t inner) {
    const std::size_t wide = o_.gated ? 2 * inner : inner;
    linear(u, at + (o_.gated ? "gate_up" : "fc"),
           {.rows = m_, .in = d_, .out = wide, .bias = o_.mlp_bias}, start);
    linear(u, at + (o_.gated ? "down" : "out"),
           {.rows = m_,
            .in = inner,
            .out = d_,
            .bias = o_.mlp_bias,
            .residual = adds_to_residual(),
            .hands_on = hands_on()},
           into_residual(o_.layers));
    u.activation += m_ * (wide + inner);
    wide_ = std::max(wide_, wide), narrow_ = std::max({narrow_, d_, inner});
  }

  // Rows go to their experts in copies, as what they multiply stands side by side; what comes back
  // is kept too, for the gradient of the router's weights.
  void experts(Unit& u, const std::string& at) {
    const ExpertsOutline& e = o_.experts;
    linear(u, at + "router", {.rows = m_, .in = d_, .out = e.count}, start);
    if (e.correction) use(u, at + "router.correction", e.count, constant(0));
    const std::size_t wide = o_.gated ? 2 * e.inner : e.inner, routed = m_ * e.top_k;
    each_expert(u, at + (o_.gated ? "experts.gate_up" : "experts.fc"), d_, wide, start);
    each_expert(u, at + (o_.gated ? "experts.down" : "experts.out"), e.inner, d_,
                into_residual(o_.layers));
    u.activation += routed * (2 * d_ + wide + e.inner);
    u.statistics += m_ * (e.count + e.top_k);  // probabilities, and the weights of those chosen
    wide_ = std::max(wide_, e.top_k * wide);
    narrow_ = std::max({narrow_, e.top_k * e.inner, e.top_k * d_});
    if (e.shared_inner > 0) mlp(u, at + "shared.", e.shared_inner);
  }

  void each_expert(Unit& u, const std::string& name, std::size_t in, std::size_t out,
                   double scale) {
    const std::size_t routed = m_ * o_.experts.top_k;
    const int weight = use(u, name + ".weight", o_.experts.count * in * out, bell(scale));
    add_linear(u, {.rows = routed, .in = in, .out = out, .weight = weight});
  }

  void head() {
    Unit u;
    u.name = "head";
    const std::size_t v = o_.vocabulary, width = o_.table_width > 0 ? o_.table_width : d_;
    if (o_.final_norm) {
      norm(u, "norm", d_);
      u.activation += m_ * d_;
    }
    if (width != d_) {
      linear(u, "project_out", {.rows = m_, .in = d_, .out = width}, start);
      u.activation += m_ * width;
    }
    const int table = head_table(u, o_.tied, token_table_, v * width);
    if (o_.head_bias) use(u, "head.bias", v, constant(0));
    add_head(u, m_, width, v, table);
    u.forward.back().bias = o_.head_bias;
    u.activation += m_ * v;
    u.statistics += m_;
    add(std::move(u));
  }

  // Of the first token of each text.
  void pooler() {
    Unit u;
    u.name = "pooler";
    linear(u, "pooler", {.rows = o_.batch, .in = d_, .out = d_, .bias = true}, start);
    u.activation = 2 * o_.batch * d_;
    add(std::move(u));
  }

  const TransformerOutline& o_;
  const std::size_t d_, m_;
  std::size_t wide_ = 0, narrow_ = 0;
  int token_table_ = 0, first_uncounted_ = 0;
  double count_ = 0;
};

}  // namespace

std::optional<Architecture> outline_architecture(const TransformerOutline& o) {
  return Builder(o).build();
}

}  // namespace shardmark
