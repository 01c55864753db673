#include "impl/models/products.hpp"

#include <algorithm>

namespace shardmark {

void add_linear(Unit& u, const LinearShape& l) {
  Product forward{.m = l.rows, .n = l.out, .k = l.in};
  forward.bias = l.bias, forward.residual = l.residual, forward.hands_on = l.hands_on;
  u.forward.push_back(forward);
  Product weight{.m = l.in, .n = l.out, .k = l.rows, .ta = true, .adds = true};
  weight.gradient_of = l.weight;
  u.backward.push_back(weight);
  if (l.input_gradient) u.backward.push_back({.m = l.rows, .n = l.in, .k = l.out, .tb = true});
}

void add_attention(Unit& u, const AttentionShape& s) {
  const double tiles = static_cast<double>(s.batch * s.heads) * s.share;
  const std::size_t t = s.sequence, h = s.head_dim, v = s.value_dim > 0 ? s.value_dim : h;
  const auto tile = [&](std::vector<Product>& to, std::size_t n, std::size_t k, bool ta, bool tb) {
    Product p{.m = t, .n = n, .k = k, .ta = ta, .tb = tb};
    p.times = tiles, p.attention = true;
    to.push_back(p);
  };
  tile(u.forward, t, h, false, true), tile(u.forward, v, t, false, false);    // q k^T, p v
  tile(u.backward, v, t, true, false), tile(u.backward, t, v, false, true);   // dv, dp
  tile(u.backward, h, t, false, false), tile(u.backward, h, t, true, false);  // dq, dk
  u.scratch_for.push_back([s, widest = std::max(h, v)](DType type) {
    AttentionBackward o;
    o.batch = s.batch, o.sequence = s.sequence, o.heads = s.heads, o.kv_heads = s.kv_heads;
    o.head_dim = widest;
    o.qkv = nowhere(s.batch * s.sequence * (s.heads + 2 * s.kv_heads) * widest, type);
    return o;
  });
}

void add_head(Unit& u, std::size_t rows, std::size_t width, std::size_t vocabulary, int table) {
  u.forward.push_back({.m = rows, .n = vocabulary, .k = width, .tb = true});
  Product weight{.m = vocabulary, .n = width, .k = rows, .ta = true, .adds = true};
  weight.gradient_of = table;
  u.backward.push_back(weight);
  u.backward.push_back({.m = rows, .n = width, .k = vocabulary});
}

void add_embedding(Unit& u, std::size_t rows, std::size_t width, std::size_t vocabulary,
                   std::size_t positions) {
  u.scratch_for.push_back([=](DType t) {
    EmbedBackward o;
    o.grad = nowhere(rows * width, t), o.table = nowhere(vocabulary * width, t);
    if (positions > 0) o.positions = nowhere(positions * width, t);
    o.width = width;
    return o;
  });
}

void add_layer_norm(Unit& u, std::size_t rows, std::size_t width) {
  u.scratch_for.push_back([=](DType t) {
    LayerNormBackward o;
    o.x = nowhere(rows * width, t), o.width = width;
    return o;
  });
}

void add_rms_norm(Unit& u, std::size_t rows, std::size_t width) {
  u.scratch_for.push_back([=](DType t) {
    RmsNormBackward o;
    o.x = nowhere(rows * width, t), o.width = width;
    return o;
  });
}

}  // namespace shardmark
