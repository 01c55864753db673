#pragma once
// What does a transformer consist of, whose kernels are not here? Enough to count its parameters,
// the products of each unit, and what backward would read if it were written as our own models are:
// each norm's, linear map's and attention's result in the parameter's type, statistics in f32.
#include <optional>
#include <string>
#include <vector>

#include "impl/architecture.hpp"

namespace shardmark {

// Where norms stand in a block: before attention and MLP; behind each of them and its residual sum;
// before and behind each; or, where attention and MLP both read the block's input, one norm for
// both or one for each.
enum class NormPlaces { before, after, around, shared, apart };

// In place of the MLP of some layers (Shazeer et al. 2017): each token goes through top_k of count.
// Parameters of all experts stand in one, as kernels that multiply all of them at once have them.
struct ExpertsOutline {
  std::size_t count = 0, top_k = 0, inner = 0;
  std::size_t shared_inner = 0;            // of the experts that every token goes through, together
  std::size_t first_dense = 0, every = 1;  // which layers have experts, and not an MLP
  bool correction = false;                 // a bias of the choice, for each expert
  bool in_layer(std::size_t i) const { return count > 0 && i >= first_dense && i % every == 0; }
};

// Queries, keys and values through low ranks (DeepSeek-AI 2024, section 2.1).
struct LatentOutline {
  std::size_t query_rank = 0;                    // 0: queries are projected in one step
  std::size_t rank = 0;                          // of keys and values; 0: none of this
  std::size_t plain = 0, rotary = 0, value = 0;  // features of a head
  std::size_t head_dim() const { return plain + rotary; }
};

struct TransformerOutline {
  std::string family;
  std::size_t layers = 0, width = 0, heads = 0, kv_heads = 0, head_dim = 0, inner = 0,
              vocabulary = 0;
  // Rows of a learned table; the longest text (0: any); features of a head that rotary positions
  // turn.
  std::size_t position_rows = 0, longest = 0, rotary = 0;
  std::size_t table_width = 0;  // of the table of tokens where it is not the width; 0: it is
  std::size_t types = 0;        // rows of a table of token types
  bool slopes = false;          // positions as a slope of each head (ALiBi)
  bool embedding_norm = false, final_norm = true;
  bool rms = true;  // RMSNorm, with a gain; else LayerNorm, with a bias too
  NormPlaces norms = NormPlaces::before;
  bool query_key_norm = false;  // of each head's features
  bool gated = true;            // the MLP
  bool qkv_bias = false, o_bias = false, mlp_bias = false, head_bias = false;
  bool tied = false;
  bool encoder = false;  // attention sees both sides, and a pooler stands where others have a head
  std::vector<std::size_t> windows;  // how far each layer's attention looks back; 0, or none: all
  ExpertsOutline experts;
  LatentOutline latent;
  std::size_t sequence = 0, batch = 0;  // of one micro-batch
  std::size_t rows() const { return batch * sequence; }
  std::size_t attended() const { return heads * (latent.rank > 0 ? latent.value : head_dim); }
  std::size_t qkv() const { return (heads + 2 * kv_heads) * head_dim; }
};

// Its name has the family and the sizes, but is no form that could run. Nothing where it has more
// than most_parameters (figures.hpp), which is found out before all of it is built.
std::optional<Architecture> outline_architecture(const TransformerOutline&);

}  // namespace shardmark
