#pragma once
// Which kernels does every instruction set bring? One table of functions a set: the kernels are
// written once and compiled for each. Plain pointers and counts, all f32 unless the name says
// otherwise; run.cpp has checked them.
#include <cstddef>
#include <cstdint>

#include "kernels/half.hpp"

namespace shardmark::cpu {

struct AdamStep {  // what AdamW computes with, resolved from the control scalars
  float coefficient, lr, beta1, beta2, epsilon, decay, correct1, correct2;
};
struct NormRows {
  const float *x, *gain, *bias;
  float *out, *stats;
  std::size_t rows, width;
};
struct NormRowsBackward {  // dgain and dbias may be null
  const float *grad, *x, *gain, *stats;
  float *dx, *dgain, *dbias;
  std::size_t rows, width;
};
template <class T>
struct RmsNormRows {
  const T *x, *gain;
  T* out;
  float* stats;
  std::size_t rows, width;
  float epsilon;
};
template <class T>
struct RmsNormRowsBackward {  // dgain may be null
  const T *grad, *x, *gain;
  const float* stats;
  T* dx;
  float* dgain;  // adds
  std::size_t rows, width;
};
// Row r is at position (first + r) % sequence.
template <class T>
struct RotaryRows {
  T* x;
  const float* table;
  std::size_t rows, first, sequence, heads, head_dim, stride;
  bool back;
};
inline constexpr std::size_t attention_tile = 64;  // queries, and keys
// One query head of one sequence: rows of q, k, v stand `stride` apart, rows of out `out_stride`.
template <class T>
struct AttentionHead {
  const T *q, *k, *v;
  T* out;
  float* lse;
  std::size_t stride, out_stride, sequence, head_dim;
};
// The query heads of one sequence that look at the same key and value head; of q, grad, out and dq,
// the next head stands head_dim further on, of lse `sequence`.
template <class T>
struct AttentionGroup {
  const T *q, *k, *v, *grad, *out;
  const float* lse;
  T *dq, *dk, *dv;
  float* sums;  // attention_sums(sequence, head_dim) of them
  std::size_t stride, out_stride, sequence, head_dim, heads;
};
struct Product {
  const float *a, *b, *bias;  // bias may be null
  float* c;
  std::size_t m, n, k;
  bool ta, tb, adds;
};

// What is there for each element type.
template <class T>
struct Typed {
  void (*add)(const T* from, T* to, std::size_t n);
  void (*add_f32)(const float* from, T* to, std::size_t n);
  void (*rms_norm)(const RmsNormRows<T>&);
  void (*rms_norm_backward)(const RmsNormRowsBackward<T>&);
  void (*rotary)(const RotaryRows<T>&);
  void (*swiglu)(const T* x, T* out, std::size_t rows, std::size_t columns);
  void (*swiglu_backward)(const T* x, const T* grad, T* dx, std::size_t rows, std::size_t columns);
  void (*attention)(const AttentionHead<T>&);
  void (*attention_backward)(const AttentionGroup<T>&);
};

struct Kernels {
  const char* name;
  int lanes;
  void (*exponential)(const float* from, float* to, std::size_t n);
  void (*add_f64)(const double* from, double* to, std::size_t n);
  void (*stream_copy)(const std::uint8_t* from, std::uint8_t* to, std::size_t bytes);
  // to[i] = (sources[0][i] + ... ) * factor; streams: past the caches
  void (*reduce)(const float* const* sources, std::size_t count, float* to, std::size_t n,
                 float factor, bool streams);
  void (*reduce_f64)(const double* const* sources, std::size_t count, double* to, std::size_t n,
                     double factor);
  void (*widen_bf16)(const std::uint16_t* from, float* to, std::size_t n);
  void (*narrow_bf16)(const float* from, std::uint16_t* to, std::size_t n);
  void (*widen_f16)(const std::uint16_t* from, float* to, std::size_t n);
  void (*narrow_f16)(const float* from, std::uint16_t* to, std::size_t n);
  void (*widen_f64)(const float* from, double* to, std::size_t n);
  void (*narrow_f64)(const double* from, float* to, std::size_t n);
  double (*sum_squares)(const float* x, std::size_t n);
  // columns [begin, end) of (rows, stride)
  void (*column_sum)(const float* x, float* total, std::size_t rows, std::size_t stride,
                     std::size_t begin, std::size_t end);
  void (*adamw)(float* weight, const float* grad, float* first, float* second, std::size_t n,
                const AdamStep&);
  void (*layer_norm)(const NormRows&);
  void (*layer_norm_backward)(const NormRowsBackward&);
  void (*gelu)(const float* x, float* out, std::size_t n);
  void (*gelu_backward)(const float* x, float* grad, float* bias_grad, std::size_t rows,
                        std::size_t stride, std::size_t begin, std::size_t end);
  // writes lse, returns the sum over rows of -log softmax(logits)[target]
  double (*cross_entropy)(const float* logits, const std::int32_t* targets, float* lse,
                          std::size_t rows, std::size_t classes);
  // logits become (softmax - onehot) * factor
  void (*cross_entropy_backward)(float* logits, const float* lse, const std::int32_t* targets,
                                 std::size_t rows, std::size_t classes, float factor);
  void (*product)(const Product&);

  Typed<float> f32;
  Typed<Bf16> bf16;
  Typed<F16> f16;
  template <class T>
  const Typed<T>& of() const;
};
template <>
inline const Typed<float>& Kernels::of() const {
  return f32;
}
template <>
inline const Typed<Bf16>& Kernels::of() const {
  return bf16;
}
template <>
inline const Typed<F16>& Kernels::of() const {
  return f16;
}

namespace baseline {
const Kernels& kernels();
}
namespace avx2 {
const Kernels& kernels();
}
namespace avx512 {
const Kernels& kernels();
}

// The tables that this build has and this machine can run, best first.
const Kernels* const* tables(std::size_t& count);
const Kernels& table();  // the one in use

}  // namespace shardmark::cpu
