#pragma once
// Which kernels are compiled for this instruction set? The declarations behind table.hpp, in the
// set's own namespace; templates are instantiated at the end of their source.
#include "elementary.hpp"
#include "table.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

void exponential(const float*, float*, std::size_t);
void add_f64(const double*, double*, std::size_t);
void stream_copy(const std::uint8_t*, std::uint8_t*, std::size_t);
void reduce_f64(const double* const*, std::size_t, double*, std::size_t, double);
void widen_f64(const float*, double*, std::size_t);
void narrow_f64(const double*, float*, std::size_t);
template <class From, class To>
void cast(const From*, To*, std::size_t);
template <class From, class To>
void add(const From*, To*, std::size_t);
template <class T>
void reduce(const T* const*, std::size_t, T*, std::size_t, float, bool);
template <class T>
double sum_squares(const T*, std::size_t);
template <class T>
void column_sum(const T*, T*, std::size_t, std::size_t, std::size_t, std::size_t);
template <class T>
void add_rows(const T*, const std::uint32_t*, std::size_t, T*, std::size_t, std::size_t,
              std::size_t);
template <class T>
void one_hot(const OneHotRows<T>&);
template <class T>
void adamw(T*, float*, const T*, float*, float*, std::size_t, const AdamStep&);
template <class T>
void layer_norm(const NormRows<T>&);
template <class T>
void layer_norm_backward(const NormRowsBackward<T>&);
template <class T>
void gelu(const T*, T*, std::size_t);
template <class T>
void gelu_backward(const T*, T*, T*, std::size_t, std::size_t, std::size_t, std::size_t);
template <class T>
double cross_entropy(const T*, const std::int32_t*, float*, std::size_t, std::size_t);
template <class T>
void cross_entropy_backward(T*, const float*, const std::int32_t*, std::size_t, std::size_t, float);
template <class T>
void rms_norm(const NormRows<T>&);
template <class T>
void rms_norm_backward(const NormRowsBackward<T>&);
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
template <class T>
void product(const Product<T>&);

}  // namespace shardmark::cpu::SHARDMARK_ISA
