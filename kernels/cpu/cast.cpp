// How does a number of one type become one of another? What rounds and how is in simd.hpp. Compiled
// once for each instruction set.
#include "kernels.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

template <class From, class To>
void cast(const From* from, To* to, std::size_t n) {
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const Floats x = load(from + i), y = load(from + i + lanes);
    store(to + i, x);
    store(to + i + lanes, y);
  }
  for (; i < n; ++i) store_one(to + i, load_one(from + i));
}

// The loops are plain: the compiler makes vectors of them.
void widen_f64(const float* from, double* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<double>(from[i]);
}
void narrow_f64(const double* from, float* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

#define SHARDMARK_INSTANTIATE(T)                     \
  template void cast(const T*, float*, std::size_t); \
  template void cast(const T*, Bf16*, std::size_t);  \
  template void cast(const T*, F16*, std::size_t)
SHARDMARK_INSTANTIATE(float);
SHARDMARK_INSTANTIATE(Bf16);
SHARDMARK_INSTANTIATE(F16);

}  // namespace shardmark::cpu::SHARDMARK_ISA
