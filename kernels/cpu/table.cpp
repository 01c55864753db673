// Which functions stand in the table of this instruction set? Compiled once for each.
#include "kernels.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

namespace {

template <class T>
constexpr Typed<T> typed = {
    .add = add<T>,
    .add_f32 = add_f32<T>,
    .rms_norm = rms_norm<T>,
    .rms_norm_backward = rms_norm_backward<T>,
    .rotary = rotary<T>,
    .swiglu = swiglu<T>,
    .swiglu_backward = swiglu_backward<T>,
    .attention = attention<T>,
    .attention_backward = attention_backward<T>,
};

}  // namespace

#define SHARDMARK_TEXT_OF(x) #x
#define SHARDMARK_TEXT(x) SHARDMARK_TEXT_OF(x)

const Kernels& kernels() {
  static constexpr Kernels k = {
      .name = SHARDMARK_TEXT(SHARDMARK_ISA),
      .lanes = lanes,
      .exponential = exponential,
      .add_f64 = add_f64,
      .stream_copy = stream_copy,
      .reduce = reduce,
      .reduce_f64 = reduce_f64,
      .widen_bf16 = widen_bf16,
      .narrow_bf16 = narrow_bf16,
      .widen_f16 = widen_f16,
      .narrow_f16 = narrow_f16,
      .widen_f64 = widen_f64,
      .narrow_f64 = narrow_f64,
      .sum_squares = sum_squares,
      .column_sum = column_sum,
      .adamw = adamw,
      .layer_norm = layer_norm,
      .layer_norm_backward = layer_norm_backward,
      .gelu = gelu,
      .gelu_backward = gelu_backward,
      .cross_entropy = cross_entropy,
      .cross_entropy_backward = cross_entropy_backward,
      .product = product,
      .f32 = typed<float>,
      .bf16 = typed<Bf16>,
      .f16 = typed<F16>,
  };
  return k;
}

}  // namespace shardmark::cpu::SHARDMARK_ISA
