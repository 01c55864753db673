// How are the arrays of several ranks added, element by element? Compiled without contraction: an
// element gets the same bits wherever it stands, and in every instruction set.
#include "kernels.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

namespace {

// Elements that do not fill a stretch run through the same additions.
template <class T>
void reduce_few(const T* const* sources, std::size_t count, T* to, std::size_t i, std::size_t n,
                float factor) {
  Floats s = load_first(sources[0] + i, n);
  for (std::size_t r = 1; r < count; ++r) s += load_first(sources[r] + i, n);
  store_first(to + i, s * factor, n);
}
template <class T>
void reduce_rest(const T* const* sources, std::size_t count, T* to, std::size_t begin,
                 std::size_t end, float factor) {
  for (std::size_t i = begin; i < end; i += lanes) {
    reduce_few(sources, count, to, i, end - i < lanes ? end - i : lanes, factor);
  }
}

template <class T>
struct Reduction {
  const T* const* sources;
  std::size_t count;
  T* to;
  std::size_t n;
  float factor;
};

constexpr std::size_t stretch = 64;  // elements: whole lines
constexpr std::size_t soon = 1536;   // bytes; nearer than for one stream alone
constexpr int vectors = stretch / lanes;

// One source's part of a stretch, and the memory that will be needed soon.
template <bool adds, class T>
SHARDMARK_INLINE void read(Floats* s, const T* x) {
  constexpr std::size_t line = 64 / sizeof(T);
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) {
    if (v * lanes % line == 0) prefetch(x + v * lanes + soon / sizeof(T));
    s[v] = adds ? s[v] + load(x + v * lanes) : load(x + v * lanes);
  }
}

// Whole stretches from element i on: so many sums stay in registers while the sources
// take turns. With the number of sources known when compiling (0: it is not), the loop over them is
// unrolled, and memory kept busier. Returns where it ended.
template <bool streams, std::size_t known, class T>
std::size_t stretches(const Reduction<T>& of, std::size_t i) {
  const std::size_t count = known > 0 ? known : of.count;
  const T* at[known > 0 ? known : 1];
  for (std::size_t r = 0; r < known; ++r) at[r] = of.sources[r];
  for (; i + stretch <= of.n; i += stretch) {
    Floats s[vectors];
    read<false>(s, (known > 0 ? at[0] : of.sources[0]) + i);
#pragma GCC unroll 8
    for (std::size_t r = 1; r < count; ++r) {
      read<true>(s, (known > 0 ? at[r] : of.sources[r]) + i);
    }
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) {
      if constexpr (streams) {
        stream(of.to + i + v * lanes, s[v] * of.factor);
      } else {
        store(of.to + i + v * lanes, s[v] * of.factor);
      }
    }
  }
  return i;
}
template <bool streams, class T>
std::size_t stretches(const Reduction<T>& of, std::size_t i) {
  switch (of.count) {
    case 2:
      return stretches<streams, 2>(of, i);
    case 3:
      return stretches<streams, 3>(of, i);
    case 4:
      return stretches<streams, 4>(of, i);
    case 8:
      return stretches<streams, 8>(of, i);
    default:
      return stretches<streams, 0>(of, i);
  }
}

}  // namespace

template <class T>
void reduce(const T* const* sources, std::size_t count, T* to, std::size_t n, float factor,
            bool streams) {
  constexpr std::size_t line = 64 / sizeof(T);
  std::size_t i = (line - reinterpret_cast<std::uintptr_t>(to) / sizeof(T) % line) % line;
  i = i < n ? i : n;
  reduce_rest(sources, count, to, 0, i, factor);
  const Reduction<T> of{sources, count, to, n, factor};
  i = streams ? stretches<true>(of, i) : stretches<false>(of, i);
  reduce_rest(sources, count, to, i, n, factor);
  if (streams) fence();
}
void reduce_f64(const double* const* sources, std::size_t count, double* to, std::size_t n,
                double factor) {
  for (std::size_t i = 0; i < n; ++i) {
    double s = sources[0][i];
    for (std::size_t r = 1; r < count; ++r) s += sources[r][i];
    to[i] = s * factor;
  }
}

#define SHARDMARK_INSTANTIATE(T) \
  template void reduce(const T* const*, std::size_t, T*, std::size_t, float, bool)
SHARDMARK_INSTANTIATE(float);
SHARDMARK_INSTANTIATE(Bf16);
SHARDMARK_INSTANTIATE(F16);

}  // namespace shardmark::cpu::SHARDMARK_ISA
