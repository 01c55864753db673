// What do the configs of families with LayerNorm and MLPs of two maps say: OPT, GPT-NeoX, GPT-J,
// BLOOM, Falcon, Phi, StarCoder2, BERT?
#include <fmt/format.h>

#include "impl/models/outline_keys.hpp"

namespace shardmark {
namespace {

void all_biases(TransformerOutline& o, bool have) { o.qkv_bias = o.o_bias = o.mlp_bias = have; }

TransformerOutline plain(TransformerOutline o) {
  o.rms = false, o.gated = false;
  return o;
}

TransformerOutline plain_sizes(const ConfigKeys& c) {
  TransformerOutline o = plain(usual_sizes(c));
  equal_heads(c, "hidden_size", "num_attention_heads", o);
  o.kv_heads = o.heads;
  all_biases(o, true);
  return o;
}

// Of older and newer names the one that the file has.
struct SizeKeys {
  std::string layers, width, heads;
};
TransformerOutline named_sizes(const ConfigKeys& c, const SizeKeys& keys) {
  TransformerOutline o = plain({});
  o.layers = c.whole(keys.layers, "layers"), o.width = c.whole(keys.width, "width");
  o.heads = o.kv_heads = c.whole(keys.heads, "heads");
  o.vocabulary = c.whole("vocab_size", "vocabulary");
  equal_heads(c, keys.width, keys.heads, o);
  return o;
}

// Features of a head that are turned; at least one pair would be no rotary position at all.
void part_turns(const ConfigKeys& c, const char* key, double otherwise, TransformerOutline& o) {
  const double part = c.real_or(key, "rope_factor", otherwise);
  if (part > 1) c.refuse(key, "must be at most 1");
  o.rotary = static_cast<std::size_t>(part * static_cast<double>(o.head_dim));
}

}  // namespace

TransformerOutline opt_outline(const ConfigKeys& c) {
  TransformerOutline o = plain(TransformerOutline{});
  o.layers = c.whole("num_hidden_layers", "layers"), o.width = c.whole("hidden_size", "width");
  o.heads = o.kv_heads = c.whole("num_attention_heads", "heads");
  o.inner = c.whole("ffn_dim", "inner"), o.vocabulary = c.whole("vocab_size", "vocabulary");
  equal_heads(c, "hidden_size", "num_attention_heads", o);
  o.rotary = 0;
  o.longest = c.whole("max_position_embeddings", "positions");
  o.position_rows = o.longest + 2;  // its table begins with two rows that no token has
  o.table_width = c.whole("word_embed_proj_dim", "width", o.width);
  all_biases(o, c.flag("enable_bias", true));
  if (!c.flag("layer_norm_elementwise_affine", true))
    c.refuse("layer_norm_elementwise_affine", "only true is known");
  const bool before = c.flag("do_layer_norm_before", true, "as OPTConfig has it");
  o.norms = before ? NormPlaces::before : NormPlaces::after;
  o.final_norm = before && !c.flag("_remove_final_layer_norm", false);
  read_tied(c, true, "as OPTConfig has it", o);
  return o;
}

TransformerOutline gpt_neox_outline(const ConfigKeys& c) {
  TransformerOutline o = plain_sizes(c);
  part_turns(c, "rotary_pct", 0.25, o);
  o.qkv_bias = o.o_bias = c.flag("attention_bias", true);
  o.norms = c.flag("use_parallel_residual", true) ? NormPlaces::apart : NormPlaces::before;
  read_tied(c, false, "as GPTNeoXConfig has it", o);
  return o;
}

TransformerOutline gptj_outline(const ConfigKeys& c) {
  TransformerOutline o =
      named_sizes(c, {c.either("n_layer", "num_hidden_layers"), c.either("n_embd", "hidden_size"),
                      c.either("n_head", "num_attention_heads")});
  o.inner = c.whole("n_inner", "inner", 4 * o.width, "4 times n_embd");
  o.longest = c.whole(c.either("n_positions", "max_position_embeddings"), "positions", 2048);
  o.rotary = c.whole("rotary_dim", "head_dim", 64);
  o.norms = NormPlaces::shared;
  o.mlp_bias = o.head_bias = true;
  read_tied(c, false, "as GPTJConfig has it", o);
  return o;
}

TransformerOutline bloom_outline(const ConfigKeys& c) {
  TransformerOutline o =
      named_sizes(c, {c.either("n_layer", "num_hidden_layers"), c.either("hidden_size", "n_embed"),
                      c.either("n_head", "num_attention_heads")});
  o.inner = 4 * o.width;
  if (c.has("n_inner") && c.whole("n_inner", "inner") != o.inner)
    c.refuse("n_inner", fmt::format("BLOOM's is always 4 times its width, {}", o.inner));
  o.rotary = 0, o.slopes = true;
  o.embedding_norm = true;
  all_biases(o, true);
  read_tied(c, true, "as BloomConfig has it", o);
  return o;
}

TransformerOutline falcon_outline(const ConfigKeys& c) {
  const char* because = "as FalconConfig has it";
  TransformerOutline o =
      named_sizes(c, {c.either("num_hidden_layers", "n_layer"), c.either("hidden_size", "n_embed"),
                      c.either("num_attention_heads", "n_head")});
  o.inner = c.whole("ffn_hidden_size", "inner", 4 * o.width, "4 times hidden_size");
  o.slopes = c.flag("alibi", false);
  if (o.slopes) o.rotary = 0;
  all_biases(o, c.flag("bias", false, because));
  const bool newer = c.flag("new_decoder_architecture", false, because);
  const std::string kv = c.either("num_kv_heads", "n_head_kv");
  if (newer) o.kv_heads = c.whole(kv, "kv_heads", o.heads, "as num_attention_heads");
  // Others have one for all or one for each, whatever that key says.
  if (!newer && c.flag("multi_query", true, because)) o.kv_heads = 1;
  kv_heads_divide(c, kv, o);
  const bool parallel = newer || c.flag("parallel_attn", true, because);
  const std::size_t norms = c.whole("num_ln_in_parallel_attn", "layers", newer ? 2 : 1);
  if (norms > 2) c.refuse("num_ln_in_parallel_attn", "must be 1 or 2");
  o.norms = !parallel ? NormPlaces::before : norms == 2 ? NormPlaces::apart : NormPlaces::shared;
  read_tied(c, true, because, o);
  return o;
}

TransformerOutline phi_outline(const ConfigKeys& c) {
  TransformerOutline o = plain_sizes(c);
  o.kv_heads = c.whole("num_key_value_heads", "kv_heads", o.heads, "as num_attention_heads");
  kv_heads_divide(c, "num_key_value_heads", o);
  part_turns(c, "partial_rotary_factor", 0.5, o);
  o.norms = NormPlaces::shared;
  o.query_key_norm = c.flag("qk_layernorm", false);
  o.head_bias = true;
  read_tied(c, false, "as PhiConfig has it", o);
  return o;
}

TransformerOutline starcoder2_outline(const ConfigKeys& c) {
  TransformerOutline o = plain_sizes(c);
  o.kv_heads = c.whole("num_key_value_heads", "kv_heads", 2, "as Starcoder2Config has it");
  kv_heads_divide(c, "num_key_value_heads", o);
  all_biases(o, c.flag("use_bias", true, "as Starcoder2Config has it"));
  c.word("mlp_type", {"default"}, "default");
  c.word("norm_type", {"layer_norm"}, "layer_norm");
  const std::size_t window = c.whole("sliding_window", "window", 0);
  if (window > 0) o.windows.assign(o.layers, window);
  read_tied(c, true, "as Starcoder2Config has it", o);
  return o;
}

TransformerOutline bert_outline(const ConfigKeys& c) {
  TransformerOutline o = plain_sizes(c);
  o.rotary = 0, o.encoder = true;
  o.longest = o.position_rows = c.whole("max_position_embeddings", "positions");
  o.types = c.whole("type_vocab_size", "vocabulary", 2, "as BertConfig has it");
  o.norms = NormPlaces::after;
  o.embedding_norm = true, o.final_norm = false;
  c.note("counted is the encoder with its pooler, without the head of a task");
  return o;
}

}  // namespace shardmark
