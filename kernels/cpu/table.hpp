#pragma once
// Which kernels does every instruction set bring? One table of functions a set: the kernels are
// written once and compiled for each. Plain pointers and counts; run_*.cpp have checked
// them.
#include <cstddef>
#include <cstdint>

#include "kernels/half.hpp"

namespace shardmark::cpu {

struct AdamStep {  // what AdamW computes with, resolved from the control scalars
  float coefficient, lr, beta1, beta2, epsilon, decay, correct1, correct2;
};
// Rows to be divided by their standard deviation, or by their root mean square: that has no bias,
// and of statistics no mean.
template <class T>
struct NormRows {
  const T *x, *gain, *bias;
  T* out;
  float* stats;
  std::size_t rows, width;
  float epsilon;
};
template <class T>
struct NormRowsBackward {  // dgain and dbias may be null
  const T *grad, *x, *gain;
  const float* stats;
  T* dx;
  float *dgain, *dbias;  // sums over rows stay f32; the caller rounds them
  std::size_t rows, width;
};
template <class T>
struct OneHotRows {  // rows [begin, end) of out
  const std::int32_t* tokens;
  T* out;
  std::size_t begin, end, width, sequence, context;
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
// Columns of a head that its gradient takes at a time. Always inline: kernels of every instruction
// set use it.
[[gnu::always_inline]] constexpr std::size_t attention_part(std::size_t head_dim) {
  return head_dim <= 32 ? 32 : attention_tile;
}
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
  float* sums;  // of dk, dv and a tile of dq, as run_attention.cpp counts them
  std::size_t stride, out_stride, sequence, head_dim, heads;
};
template <class T>
struct Product {                     // rows [begin, end) of c
  const T *a, *b, *bias, *residual;  // bias and residual may be null
  T* c;
  std::size_t m, n, k;
  bool ta, tb, adds;
  std::size_t begin, end;
};

// What there is for each type of element: arithmetic in f32, rounded once.
template <class T>
struct Typed {
  void (*to_f32)(const T* from, float* to, std::size_t n);
  void (*to_bf16)(const T* from, Bf16* to, std::size_t n);
  void (*to_f16)(const T* from, F16* to, std::size_t n);
  template <class To>
  auto to() const {
    if constexpr (__is_same(To, float)) return to_f32;
    if constexpr (__is_same(To, Bf16)) return to_bf16;
    if constexpr (__is_same(To, F16)) return to_f16;
  }
  void (*add)(const T* from, T* to, std::size_t n);
  void (*add_f32)(const float* from, T* to, std::size_t n);
  void (*add_to_f32)(const T* from, float* to, std::size_t n);
  // to[i] = (sources[0][i] + ... ) * factor; streams: past the caches
  void (*reduce)(const T* const* sources, std::size_t count, T* to, std::size_t n, float factor,
                 bool streams);
  double (*sum_squares)(const T* x, std::size_t n);
  // columns [begin, end) of (rows, stride)
  void (*column_sum)(const T* x, T* total, std::size_t rows, std::size_t stride, std::size_t begin,
                     std::size_t end);
  // columns [begin, end) of to(stride) add the rows of x(rows, stride) with these numbers, in their
  // order
  void (*add_rows)(const T* x, const std::uint32_t* numbers, std::size_t count, T* to,
                   std::size_t stride, std::size_t begin, std::size_t end);
  void (*one_hot)(const OneHotRows<T>&);
  // weight becomes the rounded master; where T is f32, both are the same
  void (*adamw)(T* weight, float* master, const T* grad, float* first, float* second, std::size_t n,
                const AdamStep&);
  void (*layer_norm)(const NormRows<T>&);
  void (*layer_norm_backward)(const NormRowsBackward<T>&);
  void (*gelu)(const T* x, T* out, std::size_t n);
  void (*gelu_backward)(const T* x, T* grad, T* bias_grad, std::size_t rows, std::size_t stride,
                        std::size_t begin, std::size_t end);
  // writes lse, returns the sum over rows of -log softmax(logits)[target]
  double (*cross_entropy)(const T* logits, const std::int32_t* targets, float* lse,
                          std::size_t rows, std::size_t classes);
  // logits become (softmax - onehot) * factor
  void (*cross_entropy_backward)(T* logits, const float* lse, const std::int32_t* targets,
                                 std::size_t rows, std::size_t classes, float factor);
  void (*rms_norm)(const NormRows<T>&);
  void (*rms_norm_backward)(const NormRowsBackward<T>&);
  void (*rotary)(const RotaryRows<T>&);
  void (*swiglu)(const T* x, T* out, std::size_t rows, std::size_t columns);
  void (*swiglu_backward)(const T* x, const T* grad, T* dx, std::size_t rows, std::size_t columns);
  void (*attention)(const AttentionHead<T>&);
  void (*attention_backward)(const AttentionGroup<T>&);
  void (*product)(const Product<T>&);
};

struct Kernels {
  const char* name;
  int lanes;
  void (*exponential)(const float* from, float* to, std::size_t n);
  void (*add_f64)(const double* from, double* to, std::size_t n);
  void (*stream_copy)(const std::uint8_t* from, std::uint8_t* to, std::size_t bytes);
  void (*reduce_f64)(const double* const* sources, std::size_t count, double* to, std::size_t n,
                     double factor);
  void (*widen_f64)(const float* from, double* to, std::size_t n);
  void (*narrow_f64)(const double* from, float* to, std::size_t n);

  Typed<float> f32;
  Typed<Bf16> bf16;
  Typed<F16> f16;
  template <class T>
  const Typed<T>& of() const {
    if constexpr (__is_same(T, float)) return f32;
    if constexpr (__is_same(T, Bf16)) return bf16;
    if constexpr (__is_same(T, F16)) return f16;
  }
};

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
