// What happens to each element alone? Sums, copies, squares. Compiled once for each instruction set.
#include "kernels.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

void exponential(const float* from, float* to, std::size_t n) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) store(to + i, exp(load(from + i)));
  if (i < n) store_first(to + i, exp(load_first(from + i, n - i)), n - i);
}

template <class From, class To>
void add(const From* from, To* to, std::size_t n) {
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    store(to + i, load(to + i) + load(from + i));
    store(to + i + lanes, load(to + i + lanes) + load(from + i + lanes));
  }
  for (; i < n; ++i) store_one(to + i, load_one(to + i) + load_one(from + i));
}
void add_f64(const double* from, double* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
}

// How far ahead of the loads a stream is asked for: memory answers in some 100 ns.
constexpr std::size_t ahead = 2048;  // bytes

void stream_copy(const std::uint8_t* from, std::uint8_t* to, std::size_t bytes) {
  constexpr std::size_t line = 64;
  std::size_t head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
  head = head < bytes ? head : bytes;
  __builtin_memcpy(to, from, head);
  std::size_t i = head;
  for (; i + line <= bytes; i += line) {
    __builtin_prefetch(from + i + ahead, 0, 3);  // one stream alone: into the first level
    const float* x = reinterpret_cast<const float*>(from + i);
    float* y = reinterpret_cast<float*>(to + i);
    for (std::size_t j = 0; j < line / 4; j += lanes) stream(y + j, load(x + j));
  }
  __builtin_memcpy(to + i, from + i, bytes - i);
  fence();
}

// 32 sums in double, whatever the width of a vector: the same order for every instruction set.
template <class T>
double sum_squares(const T* x, std::size_t n) {
  constexpr int sums = 32, wide = lanes / 2;
  Doubles t[sums / wide] = {};
  std::size_t i = 0;
  for (; i + sums <= n; i += sums) {
#pragma GCC unroll 16
    for (int j = 0; j < sums / lanes; ++j) {
      const Floats v = load(x + i + j * lanes);
      Half h[2];
      __builtin_memcpy(h, &v, sizeof v);
#pragma GCC unroll 2
      for (int k = 0; k < 2; ++k) {
        const Doubles d = __builtin_convertvector(h[k], Doubles);
        t[2 * j + k] += d * d;
      }
    }
  }
  double total[sums];
  for (int j = 0; j < sums; ++j) total[j] = t[j / wide][j % wide];
  for (std::size_t j = 0; i + j < n; ++j) {
    const double d = static_cast<double>(load_one(x + i + j));
    total[j] += d * d;
  }
  for (int half = sums / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) total[j] += total[j + half];
  }
  return total[0];
}

#define SHARDMARK_INSTANTIATE(T)                      \
  template double sum_squares(const T*, std::size_t); \
  template void add(const T*, T*, std::size_t)
SHARDMARK_INSTANTIATE(float);
SHARDMARK_INSTANTIATE(Bf16);
SHARDMARK_INSTANTIATE(F16);
template void add(const float*, Bf16*, std::size_t);
template void add(const float*, F16*, std::size_t);
template void add(const Bf16*, float*, std::size_t);
template void add(const F16*, float*, std::size_t);

}  // namespace shardmark::cpu::SHARDMARK_ISA
