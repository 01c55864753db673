#pragma once
// Which kernels are compiled for this instruction set? The declarations behind table.hpp, in the
// set's own namespace.
#include "simd.hpp"
#include "table.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

void exponential(const float*, float*, std::size_t);
template <class T>
void add(const T*, T*, std::size_t);
template <class T>
void add_f32(const float*, T*, std::size_t);
void add_f64(const double*, double*, std::size_t);
void stream_copy(const std::uint8_t*, std::uint8_t*, std::size_t);
void reduce(const float* const*, std::size_t, float*, std::size_t, float, bool);
void reduce_f64(const double* const*, std::size_t, double*, std::size_t, double);
void widen_bf16(const std::uint16_t*, float*, std::size_t);
void narrow_bf16(const float*, std::uint16_t*, std::size_t);
void widen_f16(const std::uint16_t*, float*, std::size_t);
void narrow_f16(const float*, std::uint16_t*, std::size_t);
void widen_f64(const float*, double*, std::size_t);
void narrow_f64(const double*, float*, std::size_t);
double sum_squares(const float*, std::size_t);
void column_sum(const float*, float*, std::size_t, std::size_t, std::size_t, std::size_t);
void adamw(float*, const float*, float*, float*, std::size_t, const AdamStep&);
void layer_norm(const NormRows&);
void layer_norm_backward(const NormRowsBackward&);
void gelu(const float*, float*, std::size_t);
void gelu_backward(const float*, float*, float*, std::size_t, std::size_t, std::size_t,
                   std::size_t);
double cross_entropy(const float*, const std::int32_t*, float*, std::size_t, std::size_t);
void cross_entropy_backward(float*, const float*, const std::int32_t*, std::size_t, std::size_t,
                            float);
template <class T>
void rms_norm(const RmsNormRows<T>&);
template <class T>
void rms_norm_backward(const RmsNormRowsBackward<T>&);
template <class T>
void rotary(const RotaryRows<T>&);
template <class T>
void swiglu(const T*, T*, std::size_t, std::size_t);
template <class T>
void swiglu_backward(const T*, const T*, T*, std::size_t, std::size_t);
template <class T>
void attention(const AttentionHead<T>&);
template <class T>
void attention_backward(const AttentionGroup<T>&);
void product(const Product&);

}  // namespace shardmark::cpu::SHARDMARK_ISA
