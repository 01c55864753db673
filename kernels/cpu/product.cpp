// How is a matrix product computed where oneDNN is not there? Tiles of both operands are copied,
// transposed where needed, and multiplied from the first-level cache. Simple before fast. Compiled
// once for each instruction set.
#include "attention_tile.hpp"
#include "kernels.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

namespace {

constexpr std::size_t side = 64;  // of a tile

struct Tiles {
  alignas(64) float a[side * side];  // (rows, depth)
  alignas(64) float b[side * side];  // (depth, columns)
  alignas(64) float c[side * side];  // (rows, columns)
};

template <class T>
void load_tile(float* to, const T* from, std::size_t stride, std::size_t rows, std::size_t columns,
               bool transposed) {
  if (transposed) {  // stored (columns, rows)
    load_transposed<side>(to, from, stride, columns, rows, side, 1.0f);
    for (std::size_t i = rows * side; i < side * side; ++i) to[i] = 0;
  } else {
    load_rows<side>(to, from, stride, rows, columns, side);
  }
}

// What is there before the product: zeros, or what is added to it.
template <class T>
void begin_tile(const Product<T>& p, Tiles& t, std::size_t i, std::size_t j, std::size_t rows,
                std::size_t columns) {
  load_rows<side>(t.c, p.c + i * p.n + j, p.n, p.adds ? rows : 0, columns, side);
  for (std::size_t r = 0; r < rows; ++r) {
    float* to = t.c + r * side;
    for (std::size_t x = 0; p.bias && x < columns; ++x) to[x] += load_one(p.bias + j + x);
    for (std::size_t x = 0; p.residual && x < columns; ++x)
      to[x] += load_one(p.residual + (i + r) * p.n + j + x);
  }
}

// One tile of c, rows [i, i + side) and columns [j, j + side), over the whole depth.
template <class T>
void product_tile(const Product<T>& p, Tiles& t, std::size_t i, std::size_t j) {
  const std::size_t rows = at_most(p.end - i, side), columns = at_most(p.n - j, side);
  T* c = p.c + i * p.n + j;
  begin_tile(p, t, i, j, rows, columns);
  for (std::size_t k = 0; k < p.k; k += side) {
    const std::size_t depth = at_most(p.k - k, side);
    load_tile(t.a, p.ta ? p.a + k * p.m + i : p.a + i * p.k + k, p.ta ? p.m : p.k, rows, depth,
              p.ta);
    load_tile(t.b, p.tb ? p.b + j * p.k + k : p.b + k * p.n + j, p.tb ? p.k : p.n, depth, columns,
              p.tb);
    for (std::size_t r = 0; r < rows; r += block_rows) {
      block_row<side, 1, side>(depth, t.a + r * side, t.b, t.c + r * side, side, true, 0,
                               static_cast<int>(up(columns, lanes)) / lanes);
    }
  }
  store_rows<side>(c, t.c, p.n, rows, columns);
}

}  // namespace

template <class T>
void product(const Product<T>& p) {
  Tiles t;
  for (std::size_t j = 0; j < p.n; j += side) {
    for (std::size_t i = p.begin; i < p.end; i += side) product_tile(p, t, i, j);
  }
}

template void product(const Product<float>&);
template void product(const Product<Bf16>&);
template void product(const Product<F16>&);

}  // namespace shardmark::cpu::SHARDMARK_ISA
