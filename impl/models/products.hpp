#pragma once
// Which matrix products are a linear map, an attention and a head, forward and backward, and which
// other ops need scratch? Models describe their units with these.
#include "impl/architecture.hpp"

namespace shardmark {

// out(rows, out) = x(rows, in) w, w stored (in, out).
struct LinearShape {
  std::size_t rows = 0, in = 0, out = 0;
  int weight = -1;  // parameter number
  bool bias = false, residual = false;
  bool hands_on = false;       // what it writes is what the next unit reads
  bool input_gradient = true;  // false: nothing before it is trained
};
void add_linear(Unit&, const LinearShape&);

// Also says the shape of the op.
struct AttentionShape {
  std::size_t batch = 0, sequence = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::size_t value_dim = 0;  // of a value where that is not head_dim
  double share = 0.5;         // of each product that is not masked; causal: half
};
void add_attention(Unit&, const AttentionShape&);

// logits(rows, vocabulary) = x(rows, width) table^T, table stored (vocabulary, width).
void add_head(Unit&, std::size_t rows, std::size_t width, std::size_t vocabulary, int table);

// Ops without products, by the shape that their gradient needs scratch for. positions: rows of
// their table; 0: none.
void add_embedding(Unit&, std::size_t rows, std::size_t width, std::size_t vocabulary,
                   std::size_t positions);
void add_layer_norm(Unit&, std::size_t rows, std::size_t width);
void add_rms_norm(Unit&, std::size_t rows, std::size_t width);

}  // namespace shardmark
