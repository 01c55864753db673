// How are rows summed, and how are they made of tokens? Compiled once for each instruction set.
#include "row_sums.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

template <class T>
void column_sum(const T* x, T* total, std::size_t rows, std::size_t stride, std::size_t begin,
                std::size_t end) {
  constexpr std::size_t together = 8;  // rows: one load and store of the sums for so many
  add_row_sums(total + begin, end - begin,
               [&](float* sums, std::size_t first, std::size_t columns) {
                 for (std::size_t r = 0; r < rows; r += together) {
                   const std::size_t count = rows - r < together ? rows - r : together;
                   const T* from = x + r * stride + begin + first;
                   std::size_t c = 0;
                   for (; c + lanes <= columns; c += lanes) {
                     Floats s = load(from + c);
                     for (std::size_t j = 1; j < count; ++j) s += load(from + j * stride + c);
                     store(sums + c, load(sums + c) + s);
                   }
                   for (; c < columns; ++c) {
                     float s = load_one(from + c);
                     for (std::size_t j = 1; j < count; ++j) s += load_one(from + j * stride + c);
                     sums[c] += s;
                   }
                 }
               });
}

template <class T>
void add_rows(const T* x, const std::uint32_t* numbers, std::size_t count, T* to,
              std::size_t stride, std::size_t begin, std::size_t end) {
  constexpr int vectors = 4;  // neighbours that share the walk over the rows
  std::size_t c = begin;
  for (; c + vectors * lanes <= end; c += vectors * lanes) {
    Floats s[vectors];
    for (int v = 0; v < vectors; ++v) s[v] = load(to + c + v * lanes);
    for (std::size_t j = 0; j < count; ++j) {
      const T* from = x + numbers[j] * stride + c;
      for (int v = 0; v < vectors; ++v) s[v] += load(from + v * lanes);
    }
    for (int v = 0; v < vectors; ++v) store(to + c + v * lanes, s[v]);
  }
  for (; c < end; c += lanes) {
    const std::size_t rest = end - c < lanes ? end - c : lanes;
    Floats s = load_first(to + c, rest);
    for (std::size_t j = 0; j < count; ++j) s += load_first(x + numbers[j] * stride + c, rest);
    store_first(to + c, s, rest);
  }
}

template <class T>
void one_hot(const OneHotRows<T>& a) {
  for (std::size_t r = a.begin; r < a.end; ++r) {
    T* out = a.out + r * a.width;
    __builtin_memset(out, 0, a.width * sizeof(T));
    const std::size_t here = r % a.sequence + 1, seen = a.context < here ? a.context : here;
    for (std::size_t j = 0; j < seen; ++j) {
      T* at = out + (j * 256 + static_cast<std::size_t>(a.tokens[r - j])) % a.width;
      store_one(at, load_one(at) + 1);
    }
  }
}

#define SHARDMARK_INSTANTIATE(T)                                                              \
  template void column_sum(const T*, T*, std::size_t, std::size_t, std::size_t, std::size_t); \
  template void add_rows(const T*, const std::uint32_t*, std::size_t, T*, std::size_t,        \
                         std::size_t, std::size_t);                                           \
  template void one_hot(const OneHotRows<T>&)
SHARDMARK_INSTANTIATE(float);
SHARDMARK_INSTANTIATE(Bf16);
SHARDMARK_INSTANTIATE(F16);

}  // namespace shardmark::cpu::SHARDMARK_ISA
