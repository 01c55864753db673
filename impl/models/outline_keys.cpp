#include "impl/models/outline_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "impl/models/families.hpp"

namespace shardmark {
namespace {

struct Reader {
  const char* family;
  TransformerOutline (*read)(const ConfigKeys&);
};
constexpr std::array<Reader, 16> readers{{
    {"bert", bert_outline},
    {"bloom", bloom_outline},
    {"deepseek_v2", deepseek_v2_outline},
    {"deepseek_v3", deepseek_v3_outline},
    {"falcon", falcon_outline},
    {"gemma", gemma_outline},
    {"gemma2", gemma2_outline},
    {"gemma3", gemma3_outline},
    {"gpt_neox", gpt_neox_outline},
    {"gptj", gptj_outline},
    {"mixtral", mixtral_outline},
    {"opt", opt_outline},
    {"phi", phi_outline},
    {"phi3", phi3_outline},
    {"qwen3", qwen3_outline},
    {"starcoder2", starcoder2_outline},
}};

}  // namespace

TransformerOutline usual_sizes(const ConfigKeys& c) {
  TransformerOutline o;
  o.layers = c.whole("num_hidden_layers", "layers"), o.width = c.whole("hidden_size", "width");
  o.heads = c.whole("num_attention_heads", "heads");
  o.inner = c.whole("intermediate_size", "inner");
  o.vocabulary = c.whole("vocab_size", "vocabulary");
  o.longest = c.whole("max_position_embeddings", "positions", 0);
  return o;
}

void equal_heads(const ConfigKeys& c, const std::string& width_key, const std::string& heads_key,
                 TransformerOutline& o) {
  if (o.width % o.heads != 0)
    c.refuse(width_key, fmt::format("must be a multiple of {}, {}", heads_key, o.heads));
  o.head_dim = o.rotary = o.width / o.heads;
}

void kv_heads_divide(const ConfigKeys& c, const std::string& key, const TransformerOutline& o) {
  if (o.heads % o.kv_heads == 0) return;
  const std::string must = fmt::format("must divide the attention heads, {}", o.heads);
  c.refuse(key, c.has(key) ? must : fmt::format("its default, {}, {}", o.kv_heads, must));
}

void read_tied(const ConfigKeys& c, bool otherwise, const char* because, TransformerOutline& o) {
  o.tied = c.flag("tie_word_embeddings", otherwise, because);
}

TransformerOutline outline_of_keys(const ConfigKeys& c, const std::string& family) {
  const auto reader = std::find_if(readers.begin(), readers.end(),
                                   [&](const Reader& r) { return r.family == family; });
  require(reader != readers.end(), "a family without a reader of its keys");
  TransformerOutline o = reader->read(c);
  o.family = family;
  if (o.experts.count == 0) refuse_experts(c, fmt::format("{} models have none", family));
  if (o.experts.top_k > o.experts.count)
    c.refuse("num_experts_per_tok",
             fmt::format("may be at most the number of experts, {}", o.experts.count));
  return o;
}

}  // namespace shardmark
