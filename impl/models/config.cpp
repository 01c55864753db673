#include "impl/models/config.hpp"

#include <fmt/format.h>

#include <tuple>

#include "impl/models/families.hpp"
#include "impl/models/figures.hpp"
#include "impl/models/forms.hpp"

namespace shardmark {
namespace {

// What is not here, and would be trained as something else if it were passed over.
void off(const ConfigKeys& c, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (c.flag(key, false)) c.refuse(key, "only false is known");
}

GptShape gpt2(const ConfigKeys& c) {
  GptShape s;
  s.layers = c.whole("n_layer", "layers"), s.width = c.whole("n_embd", "width"),
  s.heads = c.whole("n_head", "heads");
  if (s.width % s.heads != 0)
    c.refuse("n_embd", fmt::format("must be a multiple of n_head, {}", s.heads));
  s.inner = c.whole("n_inner", "inner", 4 * s.width, "4 times n_embd");
  s.vocabulary = c.whole("vocab_size", "vocabulary"),
  s.positions = c.whole("n_positions", "positions");
  s.epsilon = static_cast<float>(c.real_or("layer_norm_epsilon", "epsilon", 1e-5));
  s.tied = c.flag("tie_word_embeddings", true, "as GPT2Config has it");
  c.word("activation_function", {"gelu_new", "gelu_pytorch_tanh"}, "gelu_new");
  off(c, {"scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "add_cross_attention"});
  if (!c.flag("scale_attn_weights", true)) c.refuse("scale_attn_weights", "only true is known");
  return s;
}

// An empty `otherwise`: it must be there.
std::string rotary_type(const ConfigKeys& rope, const char* key, const char* otherwise) {
  return rope.word(key, {"default", "linear", "llama3"}, otherwise);
}

RotaryScaling scaling_of(const ConfigKeys& c, const std::string& type) {
  RotaryScaling s;
  if (type == "default") return s;
  s.factor = c.real("factor", "rope_factor", 1);
  if (type == "linear") return s;
  s.low = c.real("low_freq_factor", "rope_low"), s.high = c.real("high_freq_factor", "rope_high");
  s.original = c.whole("original_max_position_embeddings", "rope_original");
  if (s.high <= s.low)
    c.refuse("high_freq_factor", fmt::format("must be above low_freq_factor, {}", s.low));
  return s;
}

void only_whole_rotation(const ConfigKeys& c) {
  if (c.real_or("partial_rotary_factor", "rope_factor", 1) != 1)
    c.refuse("partial_rotary_factor", "only 1 is known");
}

RotaryScaling older_scaling(const ConfigKeys& c) {
  if (!c.has("rope_scaling")) return {};
  const ConfigKeys rope = c.below("rope_scaling");
  const bool older = !rope.has("rope_type") && rope.has("type");
  return scaling_of(rope, rotary_type(rope, older ? "type" : "rope_type", ""));
}

// Older files have "rope_theta" and perhaps "rope_scaling", newer ones both in "rope_parameters";
// where a file has old and new ones, they must say the same.
void read_rotary(const ConfigKeys& c, LlamaShape& s) {
  only_whole_rotation(c);
  s.theta = c.real_or("rope_theta", "theta", 10000);
  s.scaling = older_scaling(c);
  if (!c.has("rope_parameters")) return;
  const ConfigKeys rope = c.below("rope_parameters");
  only_whole_rotation(rope);
  const double theta = rope.real_or("rope_theta", "theta", s.theta);
  const RotaryScaling scaling = scaling_of(rope, rotary_type(rope, "rope_type", "default"));
  if (c.has("rope_theta") && theta != s.theta)
    c.refuse("rope_theta", fmt::format("\"rope_parameters.rope_theta\" is {}", theta));
  const auto figures = [](const RotaryScaling& r) {
    return std::tuple(r.factor, r.low, r.high, r.original);
  };
  if (c.has("rope_scaling") && figures(scaling) != figures(s.scaling))
    c.refuse("rope_scaling", "says something else than \"rope_parameters\": leave one of them");
  s.theta = theta, s.scaling = scaling;
}

void read_heads(const ConfigKeys& c, const std::string& family, LlamaShape& s) {
  s.heads = c.whole("num_attention_heads", "heads");
  constexpr const char* key = "num_key_value_heads";
  s.kv_heads = family == "mistral" ? c.whole(key, "kv_heads", 8, "as MistralConfig has it")
               : family == "qwen2" ? c.whole(key, "kv_heads", 32, "as Qwen2Config has it")
                                   : c.whole(key, "kv_heads", s.heads, "as num_attention_heads");
  if (s.heads % s.kv_heads != 0)
    c.refuse(key,
             fmt::format("{}must divide num_attention_heads, {}",
                         c.has(key) ? "" : fmt::format("its default, {}, ", s.kv_heads), s.heads));
  if (c.has("head_dim")) {
    s.head_dim = c.whole("head_dim", "head_dim");
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
  if (family == "qwen2" && c.flag("use_sliding_window", false))
    return c.whole("sliding_window", "window");
  // null is no window, as in the files of later models.
  if (family != "mistral" || c.is_null("sliding_window")) return 0;
  return c.whole("sliding_window", "window", 4096, "as MistralConfig has it");
}

LlamaShape llama(const ConfigKeys& c, const std::string& family) {
  LlamaShape s;
  s.layers = c.whole("num_hidden_layers", "layers"), s.width = c.whole("hidden_size", "width");
  read_heads(c, family, s);
  s.inner = c.whole("intermediate_size", "inner"),
  s.vocabulary = c.whole("vocab_size", "vocabulary");
  s.positions = c.whole("max_position_embeddings", "positions");
  s.epsilon = static_cast<float>(c.real_or("rms_norm_eps", "epsilon", 1e-6));
  s.tied = c.flag("tie_word_embeddings", false, "as its config class has it");
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

std::string form_of_keys(const ConfigKeys& c, const std::string& family, bool bytes) {
  refuse_experts(c, "experts are not trained here");
  const auto form = [&](auto shape) {
    if (bytes) shape.vocabulary = vocabulary;
    if (const double count = parameters_of(shape); count > most_parameters)
      c.refuse_all(
          fmt::format("the model has {:.2g} parameters, but may have at most {:.0e}; "
                      "\"{}\" and \"{}\" make it smaller",
                      count, most_parameters, family == "gpt2" ? "n_layer" : "num_hidden_layers",
                      family == "gpt2" ? "n_embd" : "hidden_size"));
    return form_of(shape);
  };
  return family == "gpt2" ? form(gpt2(c)) : form(llama(c, family));
}

std::string form_of_config(const std::string& json_text, const std::string& file, bool bytes,
                           std::vector<std::string>* notes) {
  const ConfigKeys c(json_text, file, notes);
  const std::string family = family_of(c, Purpose::train);
  if (c.has("quantization_config"))
    c.refuse("quantization_config", "quantized weights are not trained here");
  return form_of_keys(c, family, bytes);
}

}  // namespace shardmark
