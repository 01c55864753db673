#pragma once
// How does a sum over many rows end in numbers of 2 bytes without being rounded at each row? A
// stretch of columns is summed in f32 over all rows, and added once.
#include "kernels.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

// f(sums, first, count) adds columns [first, first + count) of every row to `sums`.
template <class T, class F>
SHARDMARK_INLINE void add_row_sums(T* total, std::size_t columns, F&& f) {
  if constexpr (sizeof(T) == sizeof(float)) {
    f(total, std::size_t{0}, columns);
  } else {
    constexpr std::size_t at_once = 2048;
    alignas(64) float sums[at_once];
    for (std::size_t c = 0; c < columns; c += at_once) {
      const std::size_t count = columns - c < at_once ? columns - c : at_once;
      for (std::size_t i = 0; i < count; ++i) sums[i] = 0;
      f(sums, c, count);
      add(sums, total + c, count);
    }
  }
}

}  // namespace shardmark::cpu::SHARDMARK_ISA
