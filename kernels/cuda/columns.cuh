#pragma once
// How are the columns of many rows summed? A block has 32 bytes of each row; its threads share the
// rows, then add up what they have, in f32 and in an order that depends on the number of rows
// alone.
#include "kernels/cuda/packs.cuh"

namespace shardmark::cuda {

constexpr unsigned column_threads = 512;

// f.read<width>(row, column): what is read there; f.value(row, column, that): what is summed, after
// it is written where f writes something. total adds the sums, rounded once.
template <int width, int across, class F, class T>
__global__ void __launch_bounds__(column_threads)
    sum_columns(F f, std::size_t rows, std::size_t columns, T* total) {
  constexpr unsigned deep = column_threads / across;
  __shared__ SharedArray<float, static_cast<int>(column_threads) * width> sums;
  const unsigned row = threadIdx.x / across;
  const std::size_t column =
      (std::size_t{blockIdx.x} * across + threadIdx.x % across) * static_cast<unsigned>(width);
  Floats<width> sum{};
  if (column < columns) {
    const auto add = [&](std::size_t r, const auto& read) {
      const Floats<width> x = f.value(r, column, read);
#pragma unroll
      for (int i = 0; i < width; ++i) sum.at[i] += x.at[i];
    };
    // Reads of a few rows are on their way at once: no compiler may move one past a write.
    constexpr unsigned at_once = 4;
    std::size_t r = row;
    for (; r + (at_once - 1) * deep < rows; r += at_once * deep) {
      decltype(f.template read<width>(r, column)) read[at_once];
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) read[k] = f.template read<width>(r + k * deep, column);
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) add(r + k * deep, read[k]);
    }
    for (; r < rows; r += deep) add(r, f.template read<width>(r, column));
  }
  float* const mine = &sums[threadIdx.x * width];
#pragma unroll
  for (int i = 0; i < width; ++i) mine[i] = sum.at[i];
  for (unsigned half = deep / 2; half > 0; half /= 2) {
    __syncthreads();
    if (row < half) {
      for (int i = 0; i < width; ++i)
        mine[i] += mine[half * across * width + static_cast<unsigned>(i)];
    }
  }
  if (row == 0 && column < columns) {
    for (int i = 0; i < width; ++i)
      total[column + static_cast<unsigned>(i)] =
          narrowed<T>(widened(total[column + static_cast<unsigned>(i)]) + mine[i]);
  }
}

// width: of packs, where every row has them.
template <int width, class F, class T>
void over_columns(const F& f, bool packs, std::size_t rows, std::size_t columns, T* total,
                  const Launch& with) {
  constexpr int across = 2, alone = 16;
  const auto blocks = [columns](int of_block) {
    return static_cast<unsigned>((columns + static_cast<unsigned>(of_block) - 1) /
                                 static_cast<unsigned>(of_block));
  };
  if (packs)
    launch(sum_columns<width, across, F, T>, blocks(width * across), column_threads, 0, with.stream,
           f, rows, columns, total);
  else
    launch(sum_columns<1, alone, F, T>, blocks(alone), column_threads, 0, with.stream, f, rows,
           columns, total);
}

}  // namespace shardmark::cuda
