#pragma once
// How is a small product computed from tiles in the first-level cache? A block of rows times a few
// vectors of columns stays in registers while the inner dimension runs. Attention and the plain
// matrix product are made of these.
#include "simd.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

// Rows and vectors of one register block: enough sums in flight to hide the latency of a
// multiply-add, and few enough for the registers that there are.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int block_rows = 8, block_vectors = 2;
#else
inline constexpr int block_rows = 4, block_vectors = 2;
#endif

// c(R, C vectors) = or += sum over k of a(r, k) b(k, :); a(r, k) stands at a[r * row + k * step].
template <int R, int C, int row, int step, int ldb>
SHARDMARK_INLINE void block(std::size_t depth, const float* a, const float* b, float* c,
                            std::size_t ldc, bool adds) {
  Floats t[R][C];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < C; ++v) t[r][v] = Floats{};
  }
  for (std::size_t k = 0; k < depth; ++k) {
    Floats y[C];
#pragma GCC unroll 16
    for (int v = 0; v < C; ++v) y[v] = load(b + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Floats x = all(a[r * row]);
#pragma GCC unroll 16
      for (int v = 0; v < C; ++v) t[r][v] += x * y[v];
    }
    a += step;
    b += ldb;
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < C; ++v) {
      float* to = c + static_cast<std::size_t>(r) * ldc + v * lanes;
      store(to, adds ? load(to) + t[r][v] : t[r][v]);
    }
  }
}

// One row of blocks, over vectors [from, to).
template <int row, int step, int ldb>
__attribute__((noinline)) void block_row(std::size_t depth, const float* a, const float* b,
                                         float* c, std::size_t ldc, bool adds, int from, int to) {
  int v = from;
  for (; v + block_vectors <= to; v += block_vectors) {
    block<block_rows, block_vectors, row, step, ldb>(depth, a, b + v * lanes, c + v * lanes, ldc,
                                                     adds);
  }
  for (; v < to; ++v)
    block<block_rows, 1, row, step, ldb>(depth, a, b + v * lanes, c + v * lanes, ldc, adds);
}

// A tile's rows [0, rows) of `columns` elements, zeros behind them up to `ld` and down to `padded`
// rows.
template <int ld, class T>
SHARDMARK_INLINE void load_rows(float* to, const T* from, std::size_t stride, std::size_t rows,
                                std::size_t columns, std::size_t padded) {
  for (std::size_t r = 0; r < rows; ++r, to += ld, from += stride) {
    std::size_t c = 0;
    for (; c + lanes <= columns; c += lanes) store(to + c, load(from + c));
    for (; c < columns; ++c) to[c] = load_one(from + c);
    for (; c < ld; ++c) to[c] = 0;
  }
  for (std::size_t r = rows; r < padded; ++r, to += ld) {
    for (int c = 0; c < ld; ++c) to[c] = 0;
  }
}

// The first halves of two vectors, lane by lane; the second halves.
inline constexpr Lanes low_halves = lane_by_lane([](int i) { return i / 2 + i % 2 * lanes; });
inline constexpr Lanes high_halves =
    lane_by_lane([](int i) { return lanes / 2 + i / 2 + i % 2 * lanes; });

// A square of lanes x lanes, transposed by perfect shuffles: after log2(lanes) of them, column and
// row have changed places.
template <int ld, class T>
SHARDMARK_INLINE void transpose_square(float* to, const T* from, std::size_t stride, float factor) {
  Floats x[lanes], y[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) x[i] = load(from + static_cast<std::size_t>(i) * stride) * factor;
  const Ints low = low_halves, high = high_halves;
#pragma GCC unroll 4
  for (int half = 1; half < lanes; half *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < lanes / 2; ++i) {
      y[2 * i] = __builtin_shuffle(x[i], x[i + lanes / 2], low);
      y[2 * i + 1] = __builtin_shuffle(x[i], x[i + lanes / 2], high);
    }
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) x[i] = y[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) store(to + i * ld, x[i]);
}

// to(c, r) = from(r, c) * factor for rows < `rows` and c < `columns`; zeros up to `padded` rows (a
// multiple of lanes).
template <int ld, class T>
__attribute__((noinline)) void load_transposed(float* to, const T* from, std::size_t stride,
                                               std::size_t rows, std::size_t columns,
                                               std::size_t padded, float factor) {
  for (std::size_t r = 0; r < padded; r += lanes) {
    std::size_t c = 0;
    if (r + lanes <= rows) {
      for (; c + lanes <= columns; c += lanes)
        transpose_square<ld>(to + c * ld + r, from + r * stride + c, stride, factor);
    }
    for (; c < columns; ++c) {
      for (std::size_t i = r; i < r + lanes; ++i)
        to[c * ld + i] = i < rows ? load_one(from + i * stride + c) * factor : 0.0f;
    }
  }
}

}  // namespace shardmark::cpu::SHARDMARK_ISA
