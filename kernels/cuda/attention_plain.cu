// How do heads attend by plain multiply-adds? Tile by tile as on tensor cores, for any width, type
// and address; nothing is rounded before it is stored. Where a head is wider than the columns that a
// block sums, several blocks compute the same scores.
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/tile.cuh"

namespace shardmark::cuda {
namespace {

constexpr unsigned everyone = 0xffffffffu;
using TileRow = float[tile + 1];  // one more, so that a column's rows stand on different banks

// What a block does: `parts` times 64 columns of one tile of rows of one head.
template <unsigned parts>
struct Work {
  static constexpr unsigned columns = parts * tile;
  unsigned head, first, column;

  static __host__ __device__ unsigned tiles(const AttentionShape& is) {
    return (is.sequence + tile - 1) / tile;
  }
  static __host__ __device__ unsigned groups(const AttentionShape& is) {
    return (is.head_dim + columns - 1) / columns;
  }
  __device__ explicit Work(const AttentionShape& is, bool last_first)
      : head(blockIdx.x / groups(is) / tiles(is)), column(blockIdx.x % groups(is) * columns) {
    const unsigned at = blockIdx.x / groups(is) % tiles(is);
    first = (last_first ? tiles(is) - 1 - at : at) * tile;
  }
};

__device__ unsigned at_most_tile(unsigned end, unsigned begin) {
  const unsigned n = begin < end ? end - begin : 0;
  return n < tile ? n : tile;
}
// Up to 64 rows of a head from row `first` on: over the head's width, and as columns over the rows.
template <class T>
__device__ Vectors<T> rows_of(const T* head, std::size_t stride, unsigned first,
                              const AttentionShape& is) {
  return {head + first * stride, stride, 1, at_most_tile(is.sequence, first)};
}
template <class T>
__device__ Vectors<T> columns_of(const T* head, std::size_t stride, unsigned first, unsigned column,
                                 const AttentionShape& is) {
  return {head + first * stride + column, 1, stride, at_most_tile(is.head_dim, column)};
}

// f(row of the tile, column of the tile, sum).
template <class F>
__device__ void each_sum(TileSums& sums, F&& f) {
#pragma unroll
  for (unsigned i = 0; i < tile_part; ++i) {
#pragma unroll
    for (unsigned j = 0; j < tile_part; ++j) f(tile_row() + i, tile_column() + j, sums[i][j]);
  }
}
template <class T, unsigned parts>
__device__ void store(TileSums (&sums)[parts], T* head, std::size_t stride, unsigned first,
                      unsigned column, const AttentionShape& is, float factor) {
#pragma unroll
  for (unsigned part = 0; part < parts; ++part) {
    each_sum(sums[part], [&](unsigned row, unsigned c, float sum) {
      const unsigned at = column + part * tile + c;
      if (first + row < is.sequence && at < is.head_dim)
        head[(first + row) * stride + at] = narrowed<T>(sum * factor);
    });
  }
}

// Of four rows of scores: the largest so far, and the sum of exponentials relative to it.
struct Softmax {
  float top[tile_part] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, total[tile_part] = {};
};
__device__ void exponentials(TileSums& scores, Softmax& so_far, float factor,
                             float (&rescale)[tile_part]) {
#pragma unroll
  for (unsigned i = 0; i < tile_part; ++i) {
    float top = so_far.top[i];
#pragma unroll
    for (float s : scores[i]) top = fmaxf(top, s);
    for (int bits = 8; bits > 0; bits /= 2) top = fmaxf(top, __shfl_xor_sync(everyone, top, bits));
    rescale[i] = exp2f((so_far.top[i] - top) * factor);
    float total = 0;
#pragma unroll
    for (float& s : scores[i]) total += s = exp2f((s - top) * factor);
    for (int bits = 8; bits > 0; bits /= 2) total += __shfl_xor_sync(everyone, total, bits);
    so_far.total[i] = so_far.total[i] * rescale[i] + total;
    so_far.top[i] = top;
  }
}

template <class T, unsigned parts>
__global__ void __launch_bounds__(tile_threads)
    attend(AttentionArrays<T> arrays, AttentionShape is) {
  __shared__ SharedArray<TileMemory, 1> memory;
  __shared__ SharedArray<TileRow, tile> p;
  const Work<parts> work(is, true);
  const unsigned first = work.first, end = first + at_most_tile(is.sequence, first);
  const std::size_t stride = is.stride();
  const T *k = arrays.qkv + is.k(is.kv_of(work.head)), *v = arrays.qkv + is.v(is.kv_of(work.head));
  const Vectors<T> q = rows_of(arrays.qkv + is.q(work.head), stride, first, is);
  TileSums out[parts] = {};
  Softmax softmax;
  for (unsigned key = 0; key < end; key += tile) {
    TileSums scores = {};
    multiply_tile(scores, memory[0], q, rows_of(k, stride, key, is), is.head_dim);
    each_sum(scores, [&](unsigned row, unsigned column, float& s) {
      if (key + column > first + row) s = -INFINITY;
    });
    float rescale[tile_part];
    exponentials(scores, softmax, is.scale * log2_of_e, rescale);
    each_sum(scores, [&](unsigned row, unsigned column, float s) { p[row][column] = s; });
#pragma unroll
    for (unsigned part = 0; part < parts; ++part) {
      each_sum(out[part], [&](unsigned row, unsigned, float& s) { s *= rescale[row % tile_part]; });
      multiply_tile(out[part], memory[0], Vectors<float>{p[0], tile + 1, 1, tile},
                    columns_of(v, stride, key, work.column + part * tile, is),
                    at_most_tile(is.sequence, key));
    }
  }
#pragma unroll
  for (unsigned part = 0; part < parts; ++part)
    each_sum(out[part],
             [&](unsigned row, unsigned, float& s) { s /= softmax.total[row % tile_part]; });
  store(out, arrays.out + is.out(work.head), is.width(), first, work.column, is, 1);
  for (unsigned i = 0; i < tile_part; ++i) {
    const unsigned row = first + tile_row() + i;
    if (work.column == 0 && tile_column() == 0 && row < is.sequence)
      arrays.lse[is.lse(work.head) + row] = softmax.top[i] * is.scale + logf(softmax.total[i]);
  }
}

// The probabilities of 64 keys for 64 queries of a head, and the gradients of their scores without
// the factor 1 / sqrt(head_dim): rows are queries.
template <class T>
__device__ void differentiate(TileSums& p, TileSums& ds, TileMemory& memory,
                              const AttentionGradients<T>& arrays, const AttentionShape& is,
                              unsigned head, unsigned query, unsigned key) {
  const std::size_t stride = is.stride();
  const unsigned kv = is.kv_of(head);
  multiply_tile(p, memory, rows_of(arrays.qkv + is.q(head), stride, query, is),
                rows_of(arrays.qkv + is.k(kv), stride, key, is), is.head_dim);
  multiply_tile(ds, memory, rows_of(arrays.grad + is.out(head), is.width(), query, is),
                rows_of(arrays.qkv + is.v(kv), stride, key, is), is.head_dim);
#pragma unroll
  for (unsigned i = 0; i < tile_part; ++i) {
    const unsigned row = query + tile_row() + i;
    const std::size_t at = is.lse(head) + (row < is.sequence ? row : 0);
    const float lse = arrays.lse[at], delta = arrays.delta[at];
#pragma unroll
    for (unsigned j = 0; j < tile_part; ++j) {
      const bool seen = row < is.sequence && key + tile_column() + j <= row;
      p[i][j] = seen ? exp2f((p[i][j] * is.scale - lse) * log2_of_e) : 0;
      ds[i][j] = p[i][j] * (ds[i][j] - delta);
    }
  }
}

template <class T, unsigned parts>
__global__ void __launch_bounds__(tile_threads)
    differentiate_keys(AttentionGradients<T> arrays, AttentionShape is) {
  __shared__ SharedArray<TileMemory, 1> memory;
  __shared__ SharedArray<TileRow, tile> shared;  // p, then ds
  const Work<parts> work(is, false);
  const std::size_t stride = is.stride();
  TileSums dk[parts] = {}, dv[parts] = {};
  const Vectors<float> across{shared[0], 1, tile + 1, tile};  // rows are keys
  for (unsigned head = work.head * is.shared_by(); head < (work.head + 1) * is.shared_by();
       ++head) {
    for (unsigned query = work.first; query < is.sequence; query += tile) {
      TileSums p = {}, ds = {};
      differentiate(p, ds, memory[0], arrays, is, head, query, work.first);
      const unsigned queries = at_most_tile(is.sequence, query);
      const auto add = [&](TileSums(&to)[parts], TileSums& by, const T* rows,
                           std::size_t across_rows) {
        each_sum(by, [&](unsigned row, unsigned column, float x) { shared[row][column] = x; });
#pragma unroll
        for (unsigned part = 0; part < parts; ++part)
          multiply_tile(to[part], memory[0], across,
                        columns_of(rows, across_rows, query, work.column + part * tile, is),
                        queries);
      };
      add(dv, p, arrays.grad + is.out(head), is.width());
      add(dk, ds, arrays.qkv + is.q(head), stride);
    }
  }
  store(dk, arrays.dqkv + is.k(work.head), stride, work.first, work.column, is, is.scale);
  store(dv, arrays.dqkv + is.v(work.head), stride, work.first, work.column, is, 1);
}

template <class T, unsigned parts>
__global__ void __launch_bounds__(tile_threads)
    differentiate_queries(AttentionGradients<T> arrays, AttentionShape is) {
  __shared__ SharedArray<TileMemory, 1> memory;
  __shared__ SharedArray<TileRow, tile> shared;  // ds
  const Work<parts> work(is, true);
  const std::size_t stride = is.stride();
  const unsigned first = work.first, end = first + at_most_tile(is.sequence, first);
  TileSums dq[parts] = {};
  for (unsigned key = 0; key < end; key += tile) {
    TileSums p = {}, ds = {};
    differentiate(p, ds, memory[0], arrays, is, work.head, first, key);
    each_sum(ds, [&](unsigned row, unsigned column, float x) { shared[row][column] = x; });
#pragma unroll
    for (unsigned part = 0; part < parts; ++part)
      multiply_tile(dq[part], memory[0], Vectors<float>{shared[0], tile + 1, 1, tile},
                    columns_of(arrays.qkv + is.k(is.kv_of(work.head)), stride, key,
                               work.column + part * tile, is),
                    at_most_tile(is.sequence, key));
  }
  store(dq, arrays.dqkv + is.q(work.head), stride, first, work.column, is, is.scale);
}

template <unsigned parts>
unsigned blocks_for(const AttentionShape& is, unsigned heads) {
  return is.batch * heads * Work<parts>::tiles(is) * Work<parts>::groups(is);
}
template <unsigned parts, class T>
void enqueue_back(const AttentionGradients<T>& arrays, const AttentionShape& is,
                  cudaStream_t stream) {
  launch(differentiate_keys<T, parts>, blocks_for<parts>(is, is.kv_heads), tile_threads, 0, stream,
         arrays, is);
  launch(differentiate_queries<T, parts>, blocks_for<parts>(is, is.heads), tile_threads, 0, stream,
         arrays, is);
}

}  // namespace

template <class T>
void attend_plainly(const AttentionArrays<T>& arrays, const AttentionShape& is,
                    cudaStream_t stream) {
  if (is.head_dim <= tile)
    launch(attend<T, 1>, blocks_for<1>(is, is.heads), tile_threads, 0, stream, arrays, is);
  else
    launch(attend<T, 2>, blocks_for<2>(is, is.heads), tile_threads, 0, stream, arrays, is);
}
template <class T>
void attend_back_plainly(const AttentionGradients<T>& arrays, const AttentionShape& is,
                         cudaStream_t stream) {
  is.head_dim <= tile ? enqueue_back<1>(arrays, is, stream) : enqueue_back<2>(arrays, is, stream);
}

template void attend_plainly(const AttentionArrays<float>&, const AttentionShape&, cudaStream_t);
template void attend_plainly(const AttentionArrays<Bf16>&, const AttentionShape&, cudaStream_t);
template void attend_plainly(const AttentionArrays<F16>&, const AttentionShape&, cudaStream_t);
template void attend_back_plainly(const AttentionGradients<float>&, const AttentionShape&,
                                  cudaStream_t);
template void attend_back_plainly(const AttentionGradients<Bf16>&, const AttentionShape&,
                                  cudaStream_t);
template void attend_back_plainly(const AttentionGradients<F16>&, const AttentionShape&,
                                  cudaStream_t);

}  // namespace shardmark::cuda
