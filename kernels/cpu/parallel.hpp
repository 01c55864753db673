#pragma once
// How is work shared among the threads of one rank? In contiguous parts, through OpenMP where the
// build has it (oneDNN brings it), one after the other where not.
#include <algorithm>
#include <array>
#include <cstddef>

namespace shardmark::cpu {

// f(begin, end) over parts of [0, n), each starting on a multiple of grain. f must not throw.
template <class F>
void parallel_for(int threads, std::size_t n, std::size_t grain, F&& f) {
#if defined(_OPENMP)
  const std::size_t grains = (n + grain - 1) / grain;
  const int parts = static_cast<int>(
      std::min<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), grains));
  if (parts > 1) {
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int p = 0; p < parts; ++p) {
      const auto edge = [&](int i) {
        return std::min(
            n, grains * static_cast<std::size_t>(i) / static_cast<std::size_t>(parts) * grain);
      };
      f(edge(p), edge(p + 1));
    }
    return;
  }
#else
  (void)threads, (void)grain;
#endif
  if (n > 0) f(std::size_t{0}, n);
}

// The sum of f(begin, count) over blocks of a fixed size, added in their order: it does not depend
// on the number of threads.
template <class F>
double sum_of_blocks(int threads, std::size_t n, std::size_t block, F&& f) {
  constexpr std::size_t at_once = 64;
  double sum = 0;
  for (std::size_t begin = 0; begin < n; begin += block * at_once) {
    const std::size_t blocks = std::min(at_once, (n - begin + block - 1) / block);
    std::array<double, at_once> part{};
    parallel_for(threads, blocks, 1, [&](std::size_t b, std::size_t e) {
      for (; b < e; ++b) part[b] = f(begin + b * block, std::min(block, n - begin - b * block));
    });
    for (std::size_t b = 0; b < blocks; ++b) sum += part[b];
  }
  return sum;
}

}  // namespace shardmark::cpu
