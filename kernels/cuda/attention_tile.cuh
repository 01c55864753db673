#pragma once
// What do the attention kernels of tensor cores share? Tiles in shared memory, and the products of
// a warp's rows with them (Dao 2023, section 3.3: warps own rows, and what one computes no other
// needs).
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/tensor_core.cuh"

namespace shardmark::cuda {

constexpr unsigned attention_warps = 4, attention_threads = 32 * attention_warps;
constexpr unsigned strip = 16;  // rows of a warp that one instruction multiplies

// Rows of `width` elements, 64 or 128. The pieces of 8 elements of a row are exchanged by its
// number, so that 8 rows of one column of pieces stand in different banks.
template <class T, unsigned width>
struct SharedTile {
  T* at;

  __device__ T* piece(unsigned row, unsigned number) const {
    return at + row * width + ((number ^ (row & 7)) * 8);
  }
  // Rows [0, rows) of an array, zeros from row `there` and column `columns` on; by all threads,
  // each with pieces of the same column.
  template <unsigned rows>
  __device__ void load(const T* from, std::size_t stride, unsigned there, unsigned columns) const {
    constexpr unsigned pieces = width / 8, apart = attention_threads / pieces;
    static_assert(apart % 8 == 0 && rows % apart == 0, "its pieces are exchanged alike");
    const unsigned row = threadIdx.x / pieces, number = threadIdx.x % pieces;
    T* const to = piece(row, number);
    const bool in_row = number * 8 < columns;
    std::size_t next = row * stride + number * 8;
#pragma unroll 4  // all at once would hold more addresses than there are registers
    for (unsigned down = 0; down < rows; down += apart, next += apart * stride) {
      const bool exists = in_row && row + down < there;
      copy_later<16>(to + down * width, exists ? from + next : from, exists);
    }
  }
  // Rows [row, row + 16) and columns [k, k + 16) as a.
  __device__ void a(FragmentA& to, unsigned row, unsigned k) const {
    const unsigned lane = threadIdx.x % 32;
    load_matrices(to, piece(row + lane % 16, k / 8 + lane / 16));
  }
  // Rows [n, n + 16) as the columns of two b, columns [k, k + 16) as their rows: (to[0], to[1]) and
  // (to[2], to[3]).
  __device__ void b(unsigned (&to)[4], unsigned n, unsigned k) const {
    const unsigned lane = threadIdx.x % 32;
    load_matrices(to, piece(n + lane % 8 + lane / 16 * 8, k / 8 + lane / 8 % 2));
  }
  // The same with rows as rows: rows [k, k + 16), columns [n, n + 16).
  __device__ void b_upright(unsigned (&to)[4], unsigned k, unsigned n) const {
    const unsigned lane = threadIdx.x % 32;
    load_matrices_transposed(to, piece(k + lane % 16, n / 8 + lane / 16));
  }
};

// 16 rows of a tile as left operands: kept in registers, or loaded each time.
template <class T, unsigned width, bool kept>
struct Strip {
  SharedTile<T, width> tile;
  unsigned row;
  FragmentA parts[kept ? width / 16 : 1];

  __device__ void keep() {
    if constexpr (kept) {
#pragma unroll
      for (unsigned i = 0; i < width / 16; ++i) tile.a(parts[i], row, 16 * i);
    }
  }
  __device__ const FragmentA& part(unsigned i) {
    if constexpr (!kept) {
      tile.a(parts[0], row, 16 * i);
      return parts[0];
    } else {
      return parts[i];
    }
  }
};

// The strips of a warp, one below the other; kept once they are there.
template <class T, unsigned width, bool kept, unsigned strips>
__device__ inline void begin(Strip<T, width, kept> (&left)[strips],
                             const SharedTile<T, width>& tile, unsigned row) {
#pragma unroll
  for (unsigned s = 0; s < strips; ++s) {
    left[s].tile = tile;
    left[s].row = row + s * strip;
  }
}
template <class T, unsigned width, bool kept, unsigned strips>
__device__ inline void keep(Strip<T, width, kept> (&left)[strips]) {
#pragma unroll
  for (auto& s : left) s.keep();
}

// 16 x 8n sums of a lane's warp.
template <unsigned n>
struct Sums {
  FragmentD at[n];
  __device__ void clear() {
#pragma unroll
    for (auto& d : at)
      for (float& x : d) x = 0;
  }
};

template <unsigned n, unsigned strips>
__device__ inline void clear(Sums<n> (&sums)[strips]) {
#pragma unroll
  for (auto& s : sums) s.clear();
}

// sums (16, 8n) = strip (16, width) times the transposed tile (8n, width), for each of the strips.
template <class T, unsigned width, bool kept, unsigned strips, unsigned n>
__device__ inline void multiply_by_rows(Sums<n> (&sums)[strips],
                                        Strip<T, width, kept> (&left)[strips],
                                        const SharedTile<T, width>& tile) {
  clear(sums);
#pragma unroll
  for (unsigned k = 0; k < width / 16; ++k) {
    FragmentA a[strips];
#pragma unroll
    for (unsigned s = 0; s < strips; ++s) {
      const FragmentA& part = left[s].part(k);
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) a[s][i] = part[i];
    }
#pragma unroll
    for (unsigned j = 0; j < n; j += 2) {
      unsigned b[4];
      tile.b(b, 8 * j, 16 * k);
#pragma unroll
      for (unsigned s = 0; s < strips; ++s) {
        multiply<T>(sums[s].at[j], a[s], b[0], b[1]);
        multiply<T>(sums[s].at[j + 1], a[s], b[2], b[3]);
      }
    }
  }
}

// sums (16, width) += p (16, 8n) times the tile (8n, width), for each of the strips; p is rounded
// to T, and goes from sums to operands without leaving its lane.
template <class T, unsigned width, unsigned strips, unsigned n>
__device__ inline void add_multiples(Sums<width / 8> (&sums)[strips], const Sums<n> (&p)[strips],
                                     const SharedTile<T, width>& tile) {
#pragma unroll
  for (unsigned k = 0; k < n; k += 2) {
    FragmentA a[strips];
#pragma unroll
    for (unsigned s = 0; s < strips; ++s) {
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const FragmentD& from = p[s].at[k + i / 2];
        a[s][i] = packed<T>(from[i % 2 * 2], from[i % 2 * 2 + 1]);
      }
    }
#pragma unroll
    for (unsigned j = 0; j < width / 8; j += 2) {
      unsigned b[4];
      tile.b_upright(b, 8 * k, 8 * j);
#pragma unroll
      for (unsigned s = 0; s < strips; ++s) {
        multiply<T>(sums[s].at[j], a[s], b[0], b[1]);
        multiply<T>(sums[s].at[j + 1], a[s], b[2], b[3]);
      }
    }
  }
}

// Stores 16 rows of a warp, the upper and the lower 8 times a factor: by way of its rows of a tile,
// which nothing else uses any more, so that 16 bytes go at once. to: where the first of these rows
// begins; `there` of them exist.
template <class T, unsigned width>
__device__ inline void store_strip(const Sums<width / 8>& sums, float upper, float lower,
                                   const SharedTile<T, width>& tile, unsigned row, T* to,
                                   std::size_t stride, unsigned there, unsigned columns) {
  const unsigned lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  __syncwarp();
#pragma unroll
  for (unsigned j = 0; j < width / 8; ++j) {
    const FragmentD& d = sums.at[j];
    *reinterpret_cast<unsigned*>(tile.piece(row + g, j) + 2 * t) =
        packed<T>(d[0] * upper, d[1] * upper);
    *reinterpret_cast<unsigned*>(tile.piece(row + g + 8, j) + 2 * t) =
        packed<T>(d[2] * lower, d[3] * lower);
  }
  __syncwarp();
  constexpr unsigned pieces = width / 8;
#pragma unroll
  for (unsigned turn = 0; turn < strip * pieces / 32; ++turn) {
    const unsigned i = turn * 32 + lane, r = i / pieces, number = i % pieces;
    if (r < there && number * 8 < columns)
      *reinterpret_cast<uint4*>(to + r * stride + number * 8) =
          *reinterpret_cast<const uint4*>(tile.piece(row + r, number));
  }
}

// Rows from `row` on that exist, of an array that ends.
__device__ inline unsigned rows_there(unsigned end, unsigned row) {
  return row < end ? end - row : 0;
}

}  // namespace shardmark::cuda
