#include "impl/models/config.hpp"

#include <fmt/format.h>

#include <array>

#include "impl/models/config_keys.hpp"
#include "impl/models/forms.hpp"

namespace shardmark {
namespace {

struct Family {
  const char *name, *architecture;
};
constexpr std::array<Family, 4> families{{{"gpt2", "GPT2LMHeadModel"},
                                          {"llama", "LlamaForCausalLM"},
                                          {"mistral", "MistralForCausalLM"},
                                          {"qwen2", "Qwen2ForCausalLM"}}};

std::string family_of(const ConfigKeys& c) {
  std::vector<std::string> known;
  std::string architectures;
  for (const Family& f : families) {
    known.emplace_back(f.name);
    architectures += (architectures.empty() ? "" : ", ") + std::string(f.architecture);
  }
  if (!c.has("model_type") && c.has("architectures")) {
    const std::vector<std::string> given = c.words("architectures");
    for (const Family& f : families)
      if (given == std::vector<std::string>{f.architecture}) return f.name;
    c.refuse("architectures", "may hold one of " + architectures);
  }
  return c.word("model_type", known, "");
}

// What is not here, and would be trained as something else if it were passed over.
void off(const ConfigKeys& c, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (c.flag(key, false)) c.refuse(key, "only false is known");
}

void not_quantized(const ConfigKeys& c) {
  if (c.has("quantization_config"))
    c.refuse("quantization_config", "quantized weights are not trained here");
}

GptShape gpt2(const ConfigKeys& c) {
  GptShape s;
  s.layers = c.whole("n_layer"), s.width = c.whole("n_embd"), s.heads = c.whole("n_head");
  if (s.width % s.heads != 0)
    c.refuse("n_embd", fmt::format("must be a multiple of n_head, {}", s.heads));
  s.inner = c.whole("n_inner", 4 * s.width);
  s.vocabulary = c.whole("vocab_size"), s.positions = c.whole("n_positions");
  s.epsilon = static_cast<float>(c.real_or("layer_norm_epsilon", 1e-5));
  s.tied = c.flag("tie_word_embeddings", true);
  c.word("activation_function", {"gelu_new", "gelu_pytorch_tanh"}, "gelu_new");
  off(c, {"scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "add_cross_attention"});
  if (!c.flag("scale_attn_weights", true)) c.refuse("scale_attn_weights", "only true is known");
  return s;
}

RotaryScaling scaling_of(const ConfigKeys& c, const std::string& type) {
  RotaryScaling s;
  if (type == "default") return s;
  s.factor = c.real("factor", 1);
  if (type == "linear") return s;
  s.low = c.real("low_freq_factor"), s.high = c.real("high_freq_factor");
  s.original = c.whole("original_max_position_embeddings");
  if (s.high <= s.low)
    c.refuse("high_freq_factor", fmt::format("must be above low_freq_factor, {}", s.low));
  return s;
}

void only_whole_rotation(const ConfigKeys& c) {
  if (c.real_or("partial_rotary_factor", 1) != 1)
    c.refuse("partial_rotary_factor", "only 1 is known");
}

// Older files have "rope_theta" and perhaps "rope_scaling", newer ones both in "rope_parameters".
void read_rotary(const ConfigKeys& c, LlamaShape& s) {
  const std::vector<std::string> known{"default", "linear", "llama3"};
  only_whole_rotation(c);
  s.theta = c.real_or("rope_theta", 10000);
  if (c.has("rope_parameters")) {
    const ConfigKeys rope = c.below("rope_parameters");
    only_whole_rotation(rope);
    s.theta = rope.real_or("rope_theta", s.theta);
    s.scaling = scaling_of(rope, rope.word("rope_type", known, "default"));
  } else if (c.has("rope_scaling")) {
    const ConfigKeys rope = c.below("rope_scaling");
    const bool older = !rope.has("rope_type") && rope.has("type");
    s.scaling = scaling_of(rope, rope.word(older ? "type" : "rope_type", known, ""));
  }
}

void read_heads(const ConfigKeys& c, const std::string& family, LlamaShape& s) {
  s.heads = c.whole("num_attention_heads");
  // Llama's own default is one for each head; the other families' defaults are figures of one
  // model, which a file that leaves them out hardly means.
  s.kv_heads =
      family == "llama" ? c.whole("num_key_value_heads", s.heads) : c.whole("num_key_value_heads");
  if (s.heads % s.kv_heads != 0)
    c.refuse("num_key_value_heads", fmt::format("must divide num_attention_heads, {}", s.heads));
  if (c.has("head_dim")) {
    s.head_dim = c.whole("head_dim");
    if (s.head_dim % 2 != 0) c.refuse("head_dim", "must be even, as rotary positions turn pairs");
    return;
  }
  if (s.width % (2 * s.heads) != 0)
    c.refuse("hidden_size", fmt::format("must be an even multiple of num_attention_heads, {}, "
                                        "where there is no head_dim",
                                        s.heads));
  s.head_dim = s.width / s.heads;
}

std::size_t window_of(const ConfigKeys& c, const std::string& family) {
  if (family == "qwen2" && c.flag("use_sliding_window", false)) return c.whole("sliding_window");
  return family == "mistral" ? c.whole("sliding_window", 0) : 0;
}

LlamaShape llama(const ConfigKeys& c, const std::string& family) {
  LlamaShape s;
  s.layers = c.whole("num_hidden_layers"), s.width = c.whole("hidden_size");
  read_heads(c, family, s);
  s.inner = c.whole("intermediate_size"), s.vocabulary = c.whole("vocab_size");
  s.positions = c.whole("max_position_embeddings");
  s.epsilon = static_cast<float>(c.real_or("rms_norm_eps", 1e-6));
  s.tied = c.flag("tie_word_embeddings", false);
  if (family == "llama") {
    s.qkv_bias = s.o_bias = c.flag("attention_bias", false);
    s.mlp_bias = c.flag("mlp_bias", false);
  }
  if (family == "qwen2") s.qkv_bias = true;
  s.window = window_of(c, family);
  c.word("hidden_act", {"silu"}, "silu");
  read_rotary(c, s);
  return s;
}

}  // namespace

bool is_config(const std::string& model) { return model.ends_with(".json"); }

std::string form_of_config(const std::string& json_text, const std::string& file, bool bytes) {
  const ConfigKeys c(json_text, file);
  const std::string family = family_of(c);
  not_quantized(c);
  const auto form = [bytes](auto shape) {
    if (bytes) shape.vocabulary = vocabulary;
    return form_of(shape);
  };
  return family == "gpt2" ? form(gpt2(c)) : form(llama(c, family));
}

}  // namespace shardmark
