// What do the configs of families with gated MLPs say: Mixtral, Qwen3, Gemma, Phi-3?
#include <fmt/format.h>

#include "impl/models/outline_keys.hpp"

namespace shardmark {
namespace {

void read_kv_heads(const ConfigKeys& c, std::size_t otherwise, const char* because,
                   TransformerOutline& o) {
  o.kv_heads = c.whole("num_key_value_heads", "kv_heads", otherwise, because);
  kv_heads_divide(c, "num_key_value_heads", o);
}

void read_attention_bias(const ConfigKeys& c, TransformerOutline& o) {
  o.qkv_bias = o.o_bias = c.flag("attention_bias", false);
}

// Layers look back over `window` tokens, but for each every-th (0: none), which looks at all. A
// list of the layers' types, which newer files have, says which.
void read_windows(const ConfigKeys& c, std::size_t window, std::size_t every,
                  TransformerOutline& o) {
  if (window == 0) return;
  o.windows.assign(o.layers, window);
  if (!c.has("layer_types")) {
    for (std::size_t i = every; every > 0 && i <= o.layers; i += every) o.windows[i - 1] = 0;
    return;
  }
  const std::vector<std::string> types = c.words("layer_types");
  if (types.size() != o.layers)
    c.refuse("layer_types", fmt::format("must have an entry for each of {} layers", o.layers));
  for (std::size_t i = 0; i < o.layers; ++i) {
    if (types[i] != "full_attention" && types[i] != "sliding_attention")
      c.refuse("layer_types", "its entries may be full_attention, sliding_attention");
    if (types[i] == "full_attention") o.windows[i] = 0;
  }
}

TransformerOutline gemma_sizes(const ConfigKeys& c, std::size_t kv_heads, const char* because) {
  TransformerOutline o = usual_sizes(c);
  o.head_dim = o.rotary = c.whole("head_dim", "head_dim", 256, because);
  read_kv_heads(c, kv_heads, because, o);
  read_attention_bias(c, o);
  read_tied(c, true, because, o);
  return o;
}

// Multimodal files leave most of these away.
TransformerOutline gemma3_sizes(const ConfigKeys& c) {
  const char* because = "as Gemma3TextConfig has it";
  TransformerOutline o;
  o.layers = c.whole("num_hidden_layers", "layers", 26, because);
  o.width = c.whole("hidden_size", "width", 2304, because);
  o.heads = c.whole("num_attention_heads", "heads", 8, because);
  o.inner = c.whole("intermediate_size", "inner", 9216, because);
  o.vocabulary = c.whole("vocab_size", "vocabulary", 262'208, because);
  o.longest = c.whole("max_position_embeddings", "positions", 131'072);
  o.head_dim = o.rotary = c.whole("head_dim", "head_dim", 256, because);
  read_kv_heads(c, 4, because, o);
  read_attention_bias(c, o);
  read_tied(c, true, because, o);
  return o;
}

}  // namespace

TransformerOutline mixtral_outline(const ConfigKeys& c) {
  const char* because = "as MixtralConfig has it";
  TransformerOutline o = usual_sizes(c);
  if (c.has("head_dim"))
    o.head_dim = o.rotary = c.whole("head_dim", "head_dim");
  else
    equal_heads(c, "hidden_size", "num_attention_heads", o);
  read_kv_heads(c, 8, because, o);
  o.experts.count = c.whole("num_local_experts", "experts", 8, because);
  o.experts.top_k = c.whole("num_experts_per_tok", "experts", 2, because);
  o.experts.inner = o.inner;
  read_tied(c, false, because, o);
  read_windows(c, c.whole("sliding_window", "window", 0), 0, o);
  return o;
}

TransformerOutline qwen3_outline(const ConfigKeys& c) {
  const char* because = "as Qwen3Config has it";
  TransformerOutline o = usual_sizes(c);
  o.head_dim = o.rotary = c.whole("head_dim", "head_dim", 128, because);
  read_kv_heads(c, 32, because, o);
  read_attention_bias(c, o);
  o.query_key_norm = true;
  read_tied(c, false, because, o);
  if (!c.flag("use_sliding_window", false)) return o;
  read_windows(c, c.whole("sliding_window", "window", 4096), 0, o);
  if (c.has("layer_types")) return o;
  const std::size_t whole = c.whole("max_window_layers", "layers", 28);
  for (std::size_t i = 0; i < std::min(whole, o.layers); ++i) o.windows[i] = 0;
  return o;
}

TransformerOutline gemma_outline(const ConfigKeys& c) {
  return gemma_sizes(c, 16, "as GemmaConfig has it");
}

TransformerOutline gemma2_outline(const ConfigKeys& c) {
  TransformerOutline o = gemma_sizes(c, 4, "as Gemma2Config has it");
  o.norms = NormPlaces::around;
  read_windows(c, c.whole("sliding_window", "window", 4096), 2, o);
  return o;
}

TransformerOutline gemma3_outline(const ConfigKeys& c) {
  TransformerOutline o = gemma3_sizes(c);
  o.norms = NormPlaces::around;
  o.query_key_norm = true;
  read_windows(c, c.whole("sliding_window", "window", 4096),
               c.whole("sliding_window_pattern", "layers", 6), o);
  return o;
}

TransformerOutline phi3_outline(const ConfigKeys& c) {
  TransformerOutline o = usual_sizes(c);
  equal_heads(c, "hidden_size", "num_attention_heads", o);
  read_kv_heads(c, o.heads, "as num_attention_heads", o);
  if (c.flag("attention_bias", false))
    c.refuse("attention_bias", "the linear maps of phi3 have none: only false is known");
  read_tied(c, false, "as Phi3Config has it", o);
  read_windows(c, c.whole("sliding_window", "window", 0), 0, o);
  return o;
}

}  // namespace shardmark
