// How does the gradient of attention get through tensor cores? In two passes that need no sum
// across blocks, so that the same inputs give the same bits (FlashAttention-2, Dao 2023, algorithm
// 2, adds the queries' gradients atomically instead): one where a block has keys and walks over the
// queries that see them, of all heads that share them; one where a block has queries and walks over
// their keys. Probabilities come from lse again: p = exp(s - lse), ds = p (dp - delta).
#include "kernels/cuda/attention_tile.cuh"
#include "kernels/cuda/ops.hpp"

namespace shardmark::cuda {
namespace {

// A block has `rows` of keys or of queries, and walks over `walked` of the others at once. In
// shared memory are two tiles of its own, and two that come while two are used. What registers hold
// decides how many strips a warp has: the more, the fewer times it loads what it walks over.
template <unsigned width, unsigned strips_of_warp, bool keeps>
struct Pass {
  static constexpr unsigned strips = strips_of_warp, rows = attention_warps * strips * strip;
  static constexpr unsigned walked = 32;
  static constexpr bool kept = keeps;
  template <class T>  // lse and delta of the walked behind the tiles
  static constexpr std::size_t shared_bytes = (2 * rows + 4 * walked) * width * sizeof(T) +
                                              4 * walked * sizeof(float);
};
template <unsigned width>
using KeyPass = Pass<width, width == 64 ? 2 : 1, false>;
template <unsigned width>
using QueryPass = Pass<width, width == 64 ? 2 : 1, width == 64>;

// delta of a row of a head, by a warp.
template <class T>
__global__ void __launch_bounds__(attention_threads)
    sum_rows(AttentionGradients<T> arrays, AttentionShape is) {
  const unsigned row = blockIdx.x * attention_warps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= is.batch * is.heads * is.sequence) return;
  const std::size_t at = is.out(row / is.sequence) + row % is.sequence * is.width();
  float sum = 0;
  for (unsigned i = lane; i < is.head_dim; i += 32)
    sum += widened(arrays.out[at + i]) * widened(arrays.grad[at + i]);
  for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, bits);
  if (lane == 0) arrays.delta[row] = sum;
}

// Scores and dp become p and ds (without its factor 1 / sqrt(head_dim)). at(element): lse times
// log2(e), delta, and whether the query sees the key.
template <unsigned n, class F>
__device__ inline void differentiate(Sums<n>& scores, Sums<n>& dp, float factor, F&& at) {
#pragma unroll
  for (unsigned j = 0; j < n; ++j) {
#pragma unroll
    for (unsigned e = 0; e < 4; ++e) {
      const auto [lse, delta, seen] = at(j, e);
      const float p = seen ? exp2_fast(scores.at[j][e] * factor - lse) : 0;
      scores.at[j][e] = p;
      dp.at[j][e] = p * (dp.at[j][e] - delta);
    }
  }
}
struct RowValues {
  float lse, delta;
  bool seen;
};

// The tiles that a walk uses and those that come, and what belongs to their rows.
template <class T, unsigned width, unsigned rows>
struct Walked {
  SharedTile<T, width> first, second;
  float *lse, *delta;

  __device__ Walked(T* tiles, float* values, unsigned which)
      : first{tiles + 2 * which * rows * width},
        second{first.at + rows * width},
        lse(values + 2 * which * rows),
        delta(lse + rows) {}
  __device__ void load(const T* first_from, std::size_t first_stride, const T* second_from,
                       std::size_t second_stride, unsigned there, unsigned columns) {
    first.template load<rows>(first_from, first_stride, there, columns);
    second.template load<rows>(second_from, second_stride, there, columns);
  }
  __device__ void load_values(const float* lse_from, const float* delta_from, unsigned there) {
    for (unsigned i = threadIdx.x; i < rows; i += attention_threads) {
      copy_later<4>(lse + i, i < there ? lse_from + i : lse_from, i < there);
      copy_later<4>(delta + i, i < there ? delta_from + i : delta_from, i < there);
    }
  }
};

// Stores the strips of a warp, which are rows first + row and on of an array with `sequence`.
template <class T, unsigned width, unsigned strips>
__device__ inline void store_strips(const Sums<width / 8> (&sums)[strips], float factor,
                                    const SharedTile<T, width>& tile, unsigned row, T* array,
                                    std::size_t stride, unsigned first, const AttentionShape& is) {
#pragma unroll
  for (unsigned s = 0; s < strips; ++s) {
    const unsigned in_tile = row + s * strip, at = first + in_tile;
    store_strip(sums[s], factor, factor, tile, in_tile, array + at * stride, stride,
                rows_there(is.sequence, at), is.head_dim);
  }
}

// dk and dv of a block's keys. Rows are keys, columns queries: what a warp has is transposed, and
// needs no other warp's.
template <class T, unsigned width>
__global__ void __launch_bounds__(attention_threads)
    differentiate_keys(AttentionGradients<T> arrays, AttentionShape is) {
  using Is = KeyPass<width>;
  constexpr unsigned walked = Is::walked, block_rows = Is::rows, strips = Is::strips;
  const SharedTile<T, width> k{dynamic_shared<T>()}, v{k.at + block_rows * width};
  T* const tiles = v.at + block_rows * width;
  float* const values = reinterpret_cast<float*>(tiles + 4 * walked * width);
  const unsigned blocks = (is.sequence + block_rows - 1) / block_rows,
                 kv_head = blockIdx.x / blocks,
                 first_key = blockIdx.x % blocks * block_rows,  // the first are seen most
      there = rows_there(is.sequence, first_key);
  const std::size_t stride = is.stride();
  const unsigned first_head = kv_head * is.shared_by(), first_tile = first_key / walked,
                 tiles_a_head = (is.sequence + walked - 1) / walked - first_tile,
                 steps = tiles_a_head * is.shared_by();
  const auto load = [&](unsigned step) {
    const unsigned head = first_head + step / tiles_a_head,
                   query = (first_tile + step % tiles_a_head) * walked,
                   rows = rows_there(is.sequence, query);
    Walked<T, width, walked> to(tiles, values, step % 2);
    to.load(arrays.qkv + is.q(head) + query * stride, stride,
            arrays.grad + is.out(head) + query * is.width(), is.width(), rows, is.head_dim);
    to.load_values(arrays.lse + is.lse(head) + query, arrays.delta + is.lse(head) + query, rows);
    end_of_copies();
  };
  k.template load<block_rows>(arrays.qkv + is.k(kv_head) + first_key * stride, stride, there,
                              is.head_dim);
  v.template load<block_rows>(arrays.qkv + is.v(kv_head) + first_key * stride, stride, there,
                              is.head_dim);
  load(0);
  const unsigned row = threadIdx.x / 32 * strips * strip, lane = threadIdx.x % 32;
  Strip<T, width, Is::kept> keys[strips], their_values[strips];
  begin(keys, k, row);
  begin(their_values, v, row);
  Sums<width / 8> dk[strips], dv[strips];
  clear(dk);
  clear(dv);
  for (unsigned step = 0; step < steps; ++step) {
    wait_for_copies<0>();
    __syncthreads();
    if (step == 0) keep(keys), keep(their_values);
    if (step + 1 < steps) load(step + 1);
    const Walked<T, width, walked> now(tiles, values, step % 2);
    const unsigned query = (first_tile + step % tiles_a_head) * walked, key = first_key + row;
    if (query + walked <= key) continue;  // none of these sees a key of this warp
    Sums<walked / 8> p[strips], ds[strips];
    multiply_by_rows(p, keys, now.first);
    multiply_by_rows(ds, their_values, now.second);
#pragma unroll
    for (unsigned s = 0; s < strips; ++s) {
      differentiate(p[s], ds[s], is.scale * log2_of_e, [&](unsigned j, unsigned e) {
        const unsigned column = 8 * j + lane % 4 * 2 + e % 2;
        return RowValues{now.lse[column] * log2_of_e, now.delta[column],
                         query + column >= key + s * strip + lane / 4 + e / 2 * 8};
      });
    }
    add_multiples(dv, p, now.second);
    add_multiples(dk, ds, now.first);
  }
  store_strips(dk, is.scale, k, row, arrays.dqkv + is.k(kv_head), stride, first_key, is);
  store_strips(dv, 1, v, row, arrays.dqkv + is.v(kv_head), stride, first_key, is);
}

// dq of a block's queries.
template <class T, unsigned width>
__global__ void __launch_bounds__(attention_threads)
    differentiate_queries(AttentionGradients<T> arrays, AttentionShape is) {
  using Is = QueryPass<width>;
  constexpr unsigned walked = Is::walked, block_rows = Is::rows, strips = Is::strips;
  const SharedTile<T, width> q{dynamic_shared<T>()}, g{q.at + block_rows * width};
  T* const tiles = g.at + block_rows * width;
  const unsigned blocks = (is.sequence + block_rows - 1) / block_rows, head = blockIdx.x / blocks,
                 first = (blocks - 1 - blockIdx.x % blocks) * block_rows,
                 there = rows_there(is.sequence, first);
  const std::size_t stride = is.stride();
  const T *k = arrays.qkv + is.k(is.kv_of(head)), *v = arrays.qkv + is.v(is.kv_of(head));
  const auto load = [&](unsigned key) {
    Walked<T, width, walked> to(tiles, nullptr, key / walked % 2);
    to.load(k + key * stride, stride, v + key * stride, stride, rows_there(is.sequence, key),
            is.head_dim);
    end_of_copies();
  };
  q.template load<block_rows>(arrays.qkv + is.q(head) + first * stride, stride, there, is.head_dim);
  g.template load<block_rows>(arrays.grad + is.out(head) + first * is.width(), is.width(), there,
                              is.head_dim);
  load(0);
  const unsigned row = threadIdx.x / 32 * strips * strip, lane = threadIdx.x % 32,
                 query = first + row;
  float lse[strips][2], delta[strips][2];
#pragma unroll
  for (unsigned r = 0; r < 2 * strips; ++r) {
    const unsigned mine = query + lane / 4 + 8 * r;
    const std::size_t at = is.lse(head) + mine;
    lse[r / 2][r % 2] = mine < is.sequence ? arrays.lse[at] * log2_of_e : 0;
    delta[r / 2][r % 2] = mine < is.sequence ? arrays.delta[at] : 0;
  }
  Strip<T, width, Is::kept> queries[strips], grads[strips];
  begin(queries, q, row);
  begin(grads, g, row);
  Sums<width / 8> dq[strips];
  clear(dq);
  const unsigned end = first + (there < block_rows ? there : block_rows);
  for (unsigned key = 0; key < end; key += walked) {
    wait_for_copies<0>();
    __syncthreads();
    if (key == 0) keep(queries), keep(grads);
    if (key + walked < end) load(key + walked);
    if (key >= query + strips * strip) continue;  // no query of this warp sees these
    const Walked<T, width, walked> now(tiles, nullptr, key / walked % 2);
    Sums<walked / 8> p[strips], ds[strips];
    multiply_by_rows(p, queries, now.first);
    multiply_by_rows(ds, grads, now.second);
#pragma unroll
    for (unsigned s = 0; s < strips; ++s) {
      differentiate(p[s], ds[s], is.scale * log2_of_e, [&](unsigned j, unsigned e) {
        const unsigned mine = query + s * strip + lane / 4 + e / 2 * 8;
        return RowValues{lse[s][e / 2], delta[s][e / 2],
                         mine >= key + 8 * j + lane % 4 * 2 + e % 2};
      });
    }
    add_multiples(dq, ds, now.first);
  }
  store_strips(dq, is.scale, q, row, arrays.dqkv + is.q(head), stride, first, is);
}

template <class T, unsigned width>
void enqueue(const AttentionGradients<T>& arrays, const AttentionShape& is, cudaStream_t stream) {
  const auto blocks = [&](unsigned rows) { return (is.sequence + rows - 1) / rows * is.batch; };
  using Keys = KeyPass<width>;
  using Queries = QueryPass<width>;
  launch(differentiate_keys<T, width>, blocks(Keys::rows) * is.kv_heads, attention_threads,
         Keys::template shared_bytes<T>, stream, arrays, is);
  launch(differentiate_queries<T, width>, blocks(Queries::rows) * is.heads, attention_threads,
         Queries::template shared_bytes<T>, stream, arrays, is);
}

template <class T>
void enqueue_any(const Operands& is, const AttentionBackward& o, const AttentionShape& shape,
                 cudaStream_t stream) {
  const std::size_t rows = o.batch * o.sequence;
  const AttentionGradients<T> arrays{is.in<T>("qkv", o.qkv, rows * shape.stride()),
                                     is.in<T>("out", o.out, rows * shape.width()),
                                     is.in<T>("grad", o.grad, rows * shape.width()),
                                     is.in<float>("lse", o.lse, rows * o.heads),
                                     reinterpret_cast<float*>(o.scratch.address()),
                                     is.out<T>("dqkv", o.dqkv, rows * shape.stride())};
  const auto heads_rows = static_cast<unsigned>(rows * o.heads);
  launch(sum_rows<T>, (heads_rows + attention_warps - 1) / attention_warps, attention_threads, 0,
         stream, arrays, shape);
  if constexpr (sizeof(T) == 2) {
    if (loads_whole_lines(shape, arrays.qkv, arrays.grad, arrays.dqkv))
      return shape.head_dim <= 64 ? enqueue<T, 64>(arrays, shape, stream)
                                  : enqueue<T, 128>(arrays, shape, stream);
  }
  attend_back_plainly(arrays, shape, stream);
}

}  // namespace

// delta.
std::size_t scratch_of(const AttentionBackward& o, const Launch&) {
  return o.batch * o.heads * o.sequence * sizeof(float);
}

void run_op(const AttentionBackward& o, const Launch& on) {
  const Operands is("attention_backward", Space::device);
  const AttentionShape shape =
      attention_shape(is, o.batch, o.sequence, o.heads, o.kv_heads, o.head_dim);
  is.scratch(o.scratch, scratch_of(o, on));
  with_type(is, "qkv", o.qkv, [&]<class T>() { enqueue_any<T>(is, o, shape, on.stream); });
}

}  // namespace shardmark::cuda
