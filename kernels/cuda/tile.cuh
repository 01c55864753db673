#pragma once
// How do plain multiply-adds compute a product? A block of 256 threads has 64 x 64 sums, a thread 4
// x 4 of them; the operands come through shared memory, 16 of the depth at a time. For what tensor
// cores do not compute: f32, and operands that stand or end where they cannot load.
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/numbers.cuh"

namespace shardmark::cuda {

constexpr unsigned tile = 64, tile_threads = 256, tile_part = 4, tile_depth = 16;

// Vectors over the depth, of which a tile needs up to 64: element k of vector i stands at
// at[i * vector + k * along].
template <class T>
struct Vectors {
  const T* at;
  std::size_t vector, along;
  unsigned count;
  __device__ float operator()(unsigned i, unsigned k, unsigned depth) const {
    return i < count && k < depth ? widened(at[i * vector + k * along]) : 0.0f;
  }
};

// Of thread t: its rows begin at row(), its columns at column(); the 16 threads of a row are lanes
// that follow each other.
__device__ inline unsigned tile_row() { return threadIdx.x / 16 * tile_part; }
__device__ inline unsigned tile_column() { return threadIdx.x % 16 * tile_part; }

struct TileMemory {
  // (depth, vectors); a row more than 64 wide keeps threads that store a column on different banks
  float a[tile_depth][tile + tile_part], b[tile_depth][tile + tile_part];
};

template <class T>
__device__ inline void load_part(float (&to)[tile_depth][tile + tile_part], const Vectors<T>& from,
                                 unsigned begin, unsigned depth) {
  for (unsigned i = threadIdx.x; i < tile * tile_depth; i += tile_threads) {
    const bool by_depth = from.along == 1;  // neighbours in memory to neighbours among threads
    const unsigned v = by_depth ? i / tile_depth : i % tile,
                   k = by_depth ? i % tile_depth : i / tile;
    to[k][v] = from(v, begin + k, depth);
  }
}

using TileSums = float[tile_part][tile_part];

// sums(i, j) += the product of vectors i of a and j of b. All threads of the block call it; it begins
// with a barrier, so that what they wrote to shared memory before is there.
template <class A, class B>
__device__ inline void multiply_tile(TileSums& sums, TileMemory& memory, const Vectors<A>& a,
                                     const Vectors<B>& b, unsigned depth) {
  for (unsigned begin = 0; begin < depth; begin += tile_depth) {
    __syncthreads();
    load_part(memory.a, a, begin, depth);
    load_part(memory.b, b, begin, depth);
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < tile_depth; ++k) {
      const float4 x = *reinterpret_cast<const float4*>(&memory.a[k][tile_row()]),
                   y = *reinterpret_cast<const float4*>(&memory.b[k][tile_column()]);
      const float rows[] = {x.x, x.y, x.z, x.w}, columns[] = {y.x, y.y, y.z, y.w};
#pragma unroll
      for (unsigned i = 0; i < tile_part; ++i) {
#pragma unroll
        for (unsigned j = 0; j < tile_part; ++j) sums[i][j] += rows[i] * columns[j];
      }
    }
  }
}

}  // namespace shardmark::cuda
