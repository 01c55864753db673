#pragma once
// What do the tests of collectives send? Small integers that depend on rank and place, so that
// every sum over ranks is exact; they repeat every 11 elements.
#include "kernels/device.hpp"

namespace shardmark::exact {

inline constexpr std::size_t period = 11;

inline float value(int rank, std::size_t i) {
  return static_cast<float>((static_cast<std::size_t>(rank) * 7 + i * 3) % period);
}
inline float sum(int ranks, std::size_t i) {
  float total = 0;
  for (int r = 0; r < ranks; ++r) total += value(r, i);
  return total;
}

// The first element that is not factor times the sum over ranks of what filled() gave them, or the
// size. begin: where v begins in the array of all.
inline std::size_t first_wrong(ConstView v, int ranks, std::size_t begin = 0, float factor = 1) {
  const auto values = v.host<float>();
  float expected[period];
  for (std::size_t i = 0; i < period; ++i) expected[i] = sum(ranks, begin + i) * factor;
  for (std::size_t i = 0; i < v.size(); ++i)
    if (values[i] != expected[i % period]) return i;
  return v.size();
}

inline Buffer filled(Device& d, int rank, std::size_t n) {
  Buffer b = d.memory().alloc(n, DType::f32, Tag::workspace, d.compute());
  const auto values = b.view().host<float>();
  for (std::size_t i = 0; i < n; ++i) values[i] = i < period ? value(rank, i) : values[i - period];
  return b;
}

}  // namespace shardmark::exact
