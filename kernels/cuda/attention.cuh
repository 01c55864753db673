#pragma once
// Where do heads stand in memory, and which kernels attend? Those of tensor cores (attention.cu,
// attention_backward.cu) where operands have 2 bytes and start and end where 16 can be loaded at
// once; plain ones (attention_plain.cu) for all others.
#include "kernels/cuda/launch.hpp"
#include "kernels/op.hpp"
#include "kernels/operands.hpp"

namespace shardmark::cuda {

constexpr float log2_of_e = 1.442695041f;

// Heads are numbered over the batch: head h of sequence b is b * heads + h, and so are those of keys
// and values.
struct AttentionShape {
  unsigned batch, sequence, heads, kv_heads, head_dim;
  float scale;  // of scores: 1 / sqrt(head_dim)

  // Elements from a row to the next, of qkv and of out.
  __host__ __device__ std::size_t stride() const {
    return std::size_t{heads + 2 * kv_heads} * head_dim;
  }
  __host__ __device__ std::size_t width() const { return std::size_t{heads} * head_dim; }
  __host__ __device__ unsigned shared_by() const { return heads / kv_heads; }
  // Where a head begins: in qkv, in out, in lse.
  __device__ std::size_t q(unsigned head) const {
    return head / heads * (sequence * stride()) + std::size_t{head % heads} * head_dim;
  }
  __device__ std::size_t k(unsigned kv_head) const {
    return kv_head / kv_heads * (sequence * stride()) + width() +
           std::size_t{kv_head % kv_heads} * head_dim;
  }
  __device__ std::size_t v(unsigned kv_head) const {
    return k(kv_head) + std::size_t{kv_heads} * head_dim;
  }
  __device__ std::size_t out(unsigned head) const {
    return head / heads * (sequence * width()) + std::size_t{head % heads} * head_dim;
  }
  __device__ std::size_t lse(unsigned head) const { return std::size_t{head} * sequence; }
  // The head of keys and values that a head of queries looks at.
  __device__ unsigned kv_of(unsigned head) const {
    return head / heads * kv_heads + head % heads / shared_by();
  }
};

template <class T>
struct AttentionArrays {
  const T* qkv;
  T* out;
  float* lse;
};
// delta: f32 as lse, the sum over a row of grad * out (Dao et al. 2022, equation 4 of appendix B).
template <class T>
struct AttentionGradients {
  const T *qkv, *out, *grad;
  const float* lse;
  float* delta;
  T* dqkv;
};

template <class T>
void attend_plainly(const AttentionArrays<T>&, const AttentionShape&, cudaStream_t);
template <class T>
void attend_back_plainly(const AttentionGradients<T>&, const AttentionShape&, cudaStream_t);

// Checks the shape of an op, and counts as grids do.
AttentionShape attention_shape(const Operands&, std::size_t batch, std::size_t sequence,
                               std::size_t heads, std::size_t kv_heads, std::size_t head_dim);

// Heads that tensor cores attend to are at most so wide.
constexpr std::size_t widest_head = 128;
template <class... A>
bool loads_whole_lines(const AttentionShape& s, const A*... arrays) {
  const auto off = (reinterpret_cast<std::uintptr_t>(arrays) | ...) % 16;
  return sizeof...(A) > 0 && s.head_dim % 8 == 0 && s.head_dim <= widest_head && off == 0;
}

}  // namespace shardmark::cuda
