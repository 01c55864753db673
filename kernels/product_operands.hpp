#pragma once
// What do products and attention ask of their operands, whichever device computes them?
#include "kernels/layer_ops.hpp"
#include "kernels/operands.hpp"

namespace shardmark {

// All but the scratch, of which each device asks for its own.
inline void check_product(const Operands& is, const Matmul& o) {
  is.not_zero("m", o.m);
  is.not_zero("n", o.n);
  is.not_zero("k", o.k);
  with_type(is, "a", o.a, [&]<class T>() {
    is.in<T>("a", o.a, o.m * o.k);
    is.in<T>("b", o.b, o.k * o.n);
    is.out<T>("c", o.c, o.m * o.n);
    is.maybe_in<T>("bias", o.bias, o.n);
    is.maybe_in<T>("residual", o.residual, o.m * o.n);
  });
}

inline void check_heads(const Operands& is, std::size_t batch, std::size_t sequence,
                        std::size_t heads, std::size_t kv_heads, std::size_t head_dim) {
  is.not_zero("batch", batch);
  is.not_zero("sequence", sequence);
  is.not_zero("heads", heads);
  is.not_zero("kv_heads", kv_heads);
  is.not_zero("head_dim", head_dim);
  is.need(heads % kv_heads == 0, "there are " + std::to_string(heads) + " query heads and " +
                                     std::to_string(kv_heads) +
                                     " key and value heads, but as many must share each");
}

}  // namespace shardmark
