// What do the configs of DeepSeek-V2 and V3 say? (DeepSeek-AI 2024.)
#include <fmt/format.h>

#include "impl/models/outline_keys.hpp"

namespace shardmark {
namespace {

void read_latent(const ConfigKeys& c, const char* because, TransformerOutline& o) {
  LatentOutline& l = o.latent;
  if (c.is_null("q_lora_rank"))
    c.note("\"q_lora_rank\" is null: queries are projected in one step");
  else
    l.query_rank = c.whole("q_lora_rank", "width", 1536, because);
  l.rank = c.whole("kv_lora_rank", "width", 512, because);
  l.plain = c.whole("qk_nope_head_dim", "head_dim", 128, because);
  l.rotary = o.rotary = c.whole("qk_rope_head_dim", "head_dim", 64, because);
  l.value = c.whole("v_head_dim", "head_dim", 128, because);
  o.head_dim = l.head_dim(), o.kv_heads = o.heads;
  o.qkv_bias = o.o_bias = c.flag("attention_bias", false);
}

struct Defaults {
  const char* because;
  std::size_t experts, top_k, inner, shared, first_dense;  // 0: no default
};

std::size_t whole_or(const ConfigKeys& c, const char* key, const char* figure,
                     std::size_t otherwise, const char* because) {
  return otherwise > 0 ? c.whole(key, figure, otherwise, because) : c.whole(key, figure);
}

void read_experts(const ConfigKeys& c, const Defaults& d, TransformerOutline& o) {
  ExpertsOutline& e = o.experts;
  e.count = c.whole("n_routed_experts", "experts", d.experts, d.because);
  if (e.count == 0) return;
  e.top_k = whole_or(c, "num_experts_per_tok", "experts", d.top_k, d.because);
  e.inner = c.whole("moe_intermediate_size", "inner", d.inner, d.because);
  e.shared_inner = e.inner * c.whole_or_none("n_shared_experts", "experts", d.shared, d.because);
  e.first_dense = c.whole_or_none("first_k_dense_replace", "layers", d.first_dense, d.because);
  e.every = c.whole("moe_layer_freq", "layers", 1);
}

TransformerOutline deepseek(const ConfigKeys& c, const Defaults& d) {
  TransformerOutline o = usual_sizes(c);
  read_latent(c, d.because, o);
  read_experts(c, d, o);
  read_tied(c, false, d.because, o);
  if (const std::size_t more = c.whole_or_none("num_nextn_predict_layers", "layers", 0); more > 0)
    c.note(
        fmt::format("\"num_nextn_predict_layers\" is {}: layers that predict tokens after the "
                    "next are not counted",
                    more));
  return o;
}

}  // namespace

TransformerOutline deepseek_v2_outline(const ConfigKeys& c) {
  TransformerOutline o = deepseek(c, {"as DeepseekV2Config has it", 0, 0, 1407, 0, 0});
  o.experts.correction = c.holds("topk_method", "noaux_tc");
  return o;
}

TransformerOutline deepseek_v3_outline(const ConfigKeys& c) {
  TransformerOutline o = deepseek(c, {"as DeepseekV3Config has it", 256, 8, 2048, 1, 3});
  o.experts.correction = true;
  return o;
}

}  // namespace shardmark
