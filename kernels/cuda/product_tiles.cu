// How is a product computed that cuBLASLt does not compute? Plainly, tile by tile; one rounding, at
// the end.
#include "kernels/cuda/matmul.hpp"
#include "kernels/cuda/tile.cuh"

namespace shardmark::cuda {
namespace {

template <class T>
struct Product {
  const T *a, *b, *bias, *residual;  // bias and residual may be null
  T* c;
  std::size_t m, n, k;
  bool ta, tb, adds;
  unsigned columns;  // tiles of a row of tiles
};

__device__ unsigned at_most_tile(std::size_t n) {
  return n < tile ? static_cast<unsigned>(n) : tile;
}

template <class T>
__global__ void __launch_bounds__(tile_threads) multiply_plainly(Product<T> p) {
  __shared__ SharedArray<TileMemory, 1> memory;
  const std::size_t row = std::size_t{blockIdx.x / p.columns} * tile,
                    column = std::size_t{blockIdx.x % p.columns} * tile;
  const unsigned rows = at_most_tile(p.m - row), columns = at_most_tile(p.n - column);
  const Vectors<T> a{p.a + row * (p.ta ? 1 : p.k), p.ta ? 1 : p.k, p.ta ? p.m : 1, rows},
      b{p.b + column * (p.tb ? p.k : 1), p.tb ? p.k : 1, p.tb ? 1 : p.n, columns};
  TileSums sums = {};
  multiply_tile(sums, memory[0], a, b, static_cast<unsigned>(p.k));
  for (unsigned i = tile_row(); i < tile_row() + tile_part && i < rows; ++i) {
    for (unsigned j = tile_column(); j < tile_column() + tile_part && j < columns; ++j) {
      const std::size_t at = (row + i) * p.n + column + j;
      float sum = sums[i % tile_part][j % tile_part];
      if (p.adds) sum += widened(p.c[at]);
      if (p.bias) sum += widened(p.bias[column + j]);
      if (p.residual) sum += widened(p.residual[at]);
      p.c[at] = narrowed<T>(sum);
    }
  }
}

template <class T>
void enqueue(const Matmul& o, cudaStream_t stream) {
  const auto in = [](ConstView v) { return v ? reinterpret_cast<const T*>(v.address()) : nullptr; };
  const std::size_t rows = (o.m + tile - 1) / tile, columns = (o.n + tile - 1) / tile;
  require(o.k < std::size_t{1} << 32 && rows * columns < std::size_t{1} << 31,
          "matmul: a product of m=" + std::to_string(o.m) + " n=" + std::to_string(o.n) +
              " k=" + std::to_string(o.k) + " is too large for a grid");
  const Product<T> p{
      in(o.a), in(o.b), in(o.bias), in(o.residual), reinterpret_cast<T*>(o.c.address()), o.m, o.n,
      o.k,     o.ta,    o.tb,       o.adds,         static_cast<unsigned>(columns)};
  launch(multiply_plainly<T>, static_cast<unsigned>(rows * columns), tile_threads, 0, stream, p);
}

}  // namespace

void multiply_by_tiles(const Matmul& o, const Launch& on) {
  if (o.a.dtype() == DType::f32) return enqueue<float>(o, on.stream);
  if (o.a.dtype() == DType::bf16) return enqueue<Bf16>(o, on.stream);
  enqueue<F16>(o, on.stream);
}

}  // namespace shardmark::cuda
