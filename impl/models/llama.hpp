#pragma once
// A decoder-only transformer as Llama (Touvron et al. 2023): RMSNorm before attention and MLP,
// rotary positions, causal attention with grouped keys and values, SwiGLU, cross-entropy; the head
// shares the embedding's weights where tied. Mistral and Qwen2 are the same with other figures.
// Units: embedding, blocks, head. Weights are stored (in, out), the embedding and the head
// (vocabulary, width); queries, keys and values stand side by side in one, gate and up in another.
#include "impl/models/model.hpp"

namespace shardmark {

struct LlamaShape {
  std::size_t layers = 0, width = 0, heads = 0, kv_heads = 0, head_dim = 0, inner = 0,
              vocabulary = 0;
  bool tied = true, qkv_bias = false, o_bias = false, mlp_bias = false;
  float epsilon = 1e-5f;  // of RMSNorm
  double theta = 10000;
  RotaryScaling scaling;
  // The most tokens that a text may have, and that attention looks back over; 0: any.
  std::size_t positions = 0, window = 0;
  std::size_t sequence = 0, batch = 0;  // of one micro-batch
  std::size_t rows() const { return batch * sequence; }
  std::size_t attended() const { return heads * head_dim; }  // need not be the width
  std::size_t qkv() const { return (heads + 2 * kv_heads) * head_dim; }
  std::size_t widest_narrow() const { return std::max({width, attended(), inner}); }
  std::size_t widest() const { return std::max(qkv(), 2 * inner); }
};

Architecture llama_architecture(const LlamaShape&);
std::unique_ptr<Model> make_llama(Rank&, const LlamaShape&, const Architecture&, const Options&);

}  // namespace shardmark
