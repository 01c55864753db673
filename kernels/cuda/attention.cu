// How do heads attend on tensor cores? As FlashAttention-2 does it (Dao 2023, algorithm 1): a block
// has some queries of one head and walks over the keys that they see, tile by tile; scores and
// probabilities never leave registers. Probabilities are rounded to the type of the values before
// they weigh them.
#include "kernels/cuda/attention_tile.cuh"
#include "kernels/cuda/ops.hpp"
#include "kernels/product_operands.hpp"

namespace shardmark::cuda {
namespace {

constexpr unsigned keys = 64;  // of a tile

// Of a lane's two rows, g and g + 8 of a strip: the largest score so far, and its own part of the
// sum of exponentials relative to it.
struct Softmax {
  float top[2], total[2];
};

// Scores become exponentials, relative to the largest so far; what was summed before shrinks by
// `rescale`. factor: of a score, to the exponent of 2.
template <unsigned n>
__device__ inline void exponentials(Sums<n>& scores, Softmax& so_far, float factor,
                                    float (&rescale)[2]) {
#pragma unroll
  for (unsigned r = 0; r < 2; ++r) {
    float top = so_far.top[r];
#pragma unroll
    for (auto& d : scores.at) top = fmaxf(top, fmaxf(d[2 * r], d[2 * r + 1]));
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
    rescale[r] = exp2_fast((so_far.top[r] - top) * factor);
    const float shift = top * factor;
    float total = so_far.total[r] * rescale[r];
#pragma unroll
    for (auto& d : scores.at) {
#pragma unroll
      for (unsigned e = 2 * r; e < 2 * r + 2; ++e) {
        d[e] = exp2_fast(d[e] * factor - shift);
        total += d[e];
      }
    }
    so_far.top[r] = top;
    so_far.total[r] = total;
  }
}

// Keys after a query are not seen. row, key: where the scores begin.
template <unsigned n>
__device__ inline void mask_future(Sums<n>& scores, unsigned row, unsigned key) {
  const unsigned lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (unsigned j = 0; j < n; ++j) {
#pragma unroll
    for (unsigned e = 0; e < 4; ++e) {
      if (key + 8 * j + 2 * t + e % 2 > row + g + e / 2 * 8) scores.at[j][e] = -INFINITY;
    }
  }
}

// strips: of a warp. The queries' operands stay in registers where there is room for them.
template <unsigned width>
struct Forward {
  static constexpr unsigned strips = 2;
  static constexpr bool kept = width == 64;
  static constexpr unsigned rows = attention_warps * strips * strip;
  static constexpr std::size_t shared_elements = (rows + 2 * keys) * width;
};

template <class T, unsigned width>
struct Queries {
  static constexpr unsigned strips = Forward<width>::strips;
  Strip<T, width, Forward<width>::kept> q[strips];
  Sums<width / 8> out[strips];
  Softmax softmax[strips];
  unsigned row;  // of the sequence: the warp's first

  __device__ void begin(const SharedTile<T, width>& tile, unsigned first) {
    const unsigned in_tile = threadIdx.x / 32 * strips * strip;
    row = first + in_tile;
    shardmark::cuda::begin(q, tile, in_tile);
    clear(out);
#pragma unroll
    for (auto& s : softmax) s = {{-INFINITY, -INFINITY}, {0, 0}};
  }
  __device__ bool see(unsigned key) const { return key < row + strips * strip; }

  __device__ void weigh(Sums<keys / 8> (&scores)[strips], unsigned key, float factor,
                        const SharedTile<T, width>& values) {
#pragma unroll
    for (unsigned s = 0; s < strips; ++s) {
      const unsigned at = row + s * strip;
      if (key + keys > at + 1) mask_future(scores[s], at, key);
      float rescale[2];
      exponentials(scores[s], softmax[s], factor, rescale);
#pragma unroll
      for (auto& d : out[s].at) {
#pragma unroll
        for (unsigned e = 0; e < 4; ++e) d[e] *= rescale[e / 2];
      }
    }
    add_multiples(out, scores, values);
  }
  // to, lse: of the head.
  __device__ void store(T* to, float* lse, const AttentionShape& is) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned s = 0; s < strips; ++s) {
      float inverse[2];
#pragma unroll
      for (unsigned r = 0; r < 2; ++r) {
        float total = softmax[s].total[r];
        total += __shfl_xor_sync(0xffffffffu, total, 1);
        total += __shfl_xor_sync(0xffffffffu, total, 2);
        inverse[r] = 1 / total;
        const unsigned at = row + s * strip + lane / 4 + 8 * r;
        if (lane % 4 == 0 && at < is.sequence) lse[at] = softmax[s].top[r] * is.scale + logf(total);
      }
      const unsigned at = row + s * strip;
      store_strip(out[s], inverse[0], inverse[1], q[s].tile, q[s].row, to + at * is.width(),
                  is.width(), rows_there(is.sequence, at), is.head_dim);
    }
  }
};

// While scores are computed the values are on their way, and the next keys while these weigh.
template <class T, unsigned width>
__global__ void __launch_bounds__(attention_threads)
    attend(AttentionArrays<T> arrays, AttentionShape is) {
  constexpr unsigned rows = Forward<width>::rows;
  const SharedTile<T, width> q{dynamic_shared<T>()}, k{q.at + rows * width}, v{k.at + keys * width};
  const unsigned tiles = (is.sequence + rows - 1) / rows, head = blockIdx.x / tiles,
                 first = (tiles - 1 - blockIdx.x % tiles) * rows;  // those that see most go first
  const std::size_t stride = is.stride();
  const T *k_at = arrays.qkv + is.k(is.kv_of(head)), *v_at = arrays.qkv + is.v(is.kv_of(head));
  const auto load = [&](const SharedTile<T, width>& to, const T* from, unsigned key) {
    to.template load<keys>(from + key * stride, stride, rows_there(is.sequence, key), is.head_dim);
    end_of_copies();
  };
  q.template load<rows>(arrays.qkv + is.q(head) + first * stride, stride,
                        rows_there(is.sequence, first), is.head_dim);
  load(k, k_at, 0);
  Queries<T, width> mine;
  mine.begin(q, first);
  const unsigned end = first + rows < is.sequence ? first + rows : is.sequence;
  for (unsigned key = 0; key < end; key += keys) {
    wait_for_copies<0>();
    __syncthreads();
    load(v, v_at, key);
    if (key == 0) keep(mine.q);
    Sums<keys / 8> scores[Forward<width>::strips];
    if (mine.see(key)) multiply_by_rows(scores, mine.q, k);
    wait_for_copies<0>();
    __syncthreads();
    if (key + keys < end) load(k, k_at, key + keys);
    if (mine.see(key)) mine.weigh(scores, key, is.scale * log2_of_e, v);
  }
  mine.store(arrays.out + is.out(head), arrays.lse + is.lse(head), is);
}

template <class T, unsigned width>
void enqueue(const AttentionArrays<T>& arrays, const AttentionShape& is, cudaStream_t stream) {
  using Use = Forward<width>;
  launch(attend<T, width>, is.batch * is.heads * ((is.sequence + Use::rows - 1) / Use::rows),
         attention_threads, Use::shared_elements * sizeof(T), stream, arrays, is);
}

template <class T>
void enqueue_any(const Operands& is, const Attention& o, const AttentionShape& shape,
                 cudaStream_t stream) {
  const std::size_t rows = o.batch * o.sequence;
  const AttentionArrays<T> arrays{is.in<T>("qkv", o.qkv, rows * shape.stride()),
                                  is.out<T>("out", o.out, rows * shape.width()),
                                  is.out<float>("lse", o.lse, rows * o.heads)};
  if constexpr (sizeof(T) == 2) {
    if (loads_whole_lines(shape, arrays.qkv, arrays.out))
      return shape.head_dim <= 64 ? enqueue<T, 64>(arrays, shape, stream)
                                  : enqueue<T, 128>(arrays, shape, stream);
  }
  attend_plainly(arrays, shape, stream);
}

}  // namespace

AttentionShape attention_shape(const Operands& is, std::size_t batch, std::size_t sequence,
                               std::size_t heads, std::size_t kv_heads, std::size_t head_dim) {
  check_heads(is, batch, sequence, heads, kv_heads, head_dim);
  constexpr std::size_t most = std::size_t{1} << 31;
  is.need(batch < most && heads < most && sequence < most && head_dim < most &&
              batch * heads * sequence < most,
          "a grid counts fewer than 2^31 rows of heads");
  const auto u = [](std::size_t n) { return static_cast<unsigned>(n); };
  return {u(batch),    u(sequence), u(heads),
          u(kv_heads), u(head_dim), 1 / std::sqrt(static_cast<float>(head_dim))};
}

void run_op(const Attention& o, const Launch& on) {
  const Operands is("attention", Space::device);
  const AttentionShape shape =
      attention_shape(is, o.batch, o.sequence, o.heads, o.kv_heads, o.head_dim);
  with_type(is, "qkv", o.qkv, [&]<class T>() { enqueue_any<T>(is, o, shape, on.stream); });
}

}  // namespace shardmark::cuda
