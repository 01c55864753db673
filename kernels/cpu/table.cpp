// Which functions stand in the table of this instruction set? Compiled once for each.
#include "kernels.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

namespace {

template <class T>
constexpr Typed<T> typed = {
    .to_f32 = cast<T, float>,
    .to_bf16 = cast<T, Bf16>,
    .to_f16 = cast<T, F16>,
    .add = add<T, T>,
    .add_f32 = add<float, T>,
    .add_to_f32 = add<T, float>,
    .reduce = reduce<T>,
    .sum_squares = sum_squares<T>,
    .column_sum = column_sum<T>,
    .add_rows = add_rows<T>,
    .one_hot = one_hot<T>,
    .adamw = adamw<T>,
    .layer_norm = layer_norm<T>,
    .layer_norm_backward = layer_norm_backward<T>,
    .gelu = gelu<T>,
    .gelu_backward = gelu_backward<T>,
    .cross_entropy = cross_entropy<T>,
    .cross_entropy_backward = cross_entropy_backward<T>,
    .rms_norm = rms_norm<T>,
    .rms_norm_backward = rms_norm_backward<T>,
    .rotary = rotary<T>,
    .swiglu = swiglu<T>,
    .swiglu_backward = swiglu_backward<T>,
    .attention = attention<T>,
    .attention_backward = attention_backward<T>,
    .product = product<T>,
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
      .reduce_f64 = reduce_f64,
      .widen_f64 = widen_f64,
      .narrow_f64 = narrow_f64,
      .f32 = typed<float>,
      .bf16 = typed<Bf16>,
      .f16 = typed<F16>,
  };
  return k;
}

}  // namespace shardmark::cpu::SHARDMARK_ISA
