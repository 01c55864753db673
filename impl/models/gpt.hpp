#pragma once
// A decoder-only transformer as GPT-2 (Radford et al. 2019): learned positions, LayerNorm before
// attention and MLP, causal attention, GELU, cross-entropy; the head shares the embedding's weights
// where tied. Units: embedding, blocks, head. Weights are stored (in, out), the embedding and the
// head (vocabulary, width).
#include "impl/models/model.hpp"

namespace shardmark {

struct GptShape {
  std::size_t layers = 0, width = 0, heads = 0, inner = 0, vocabulary = 0, positions = 0;
  float epsilon = 1e-5f;  // of LayerNorm
  bool tied = true;
  std::size_t sequence = 0, batch = 0;  // of one micro-batch; sequence <= positions
  std::size_t rows() const { return batch * sequence; }
  std::size_t head_dim() const { return width / heads; }
};

Architecture gpt_architecture(const GptShape&);
std::unique_ptr<Model> make_gpt(Rank&, const GptShape&, const Architecture&, const Options&);

}  // namespace shardmark
