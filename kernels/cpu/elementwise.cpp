// What happens to each element alone, or to each column? Sums, copies, squares. Compiled once for
// each instruction set.
#include "kernels.hpp"
#include "vectors.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

void exponential(const float* from, float* to, std::size_t n) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) store(to + i, exp(load(from + i)));
  if (i < n) store_first(to + i, exp(load_first(from + i, n - i)), n - i);
}

template <class T>
void add(const T* from, T* to, std::size_t n) {
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    store(to + i, load(to + i) + load(from + i));
    store(to + i + lanes, load(to + i + lanes) + load(from + i + lanes));
  }
  for (; i < n; ++i) store_one(to + i, load_one(to + i) + load_one(from + i));
}
template void add(const float*, float*, std::size_t);
template void add(const Bf16*, Bf16*, std::size_t);
template void add(const F16*, F16*, std::size_t);
template <class T>
void add_f32(const float* from, T* to, std::size_t n) {
  by_vectors(0, n, [&](std::size_t i, auto vector) {
    vector.to(to + i, vector.from(to + i) + vector.from(from + i));
  });
}
template void add_f32(const float*, float*, std::size_t);
template void add_f32(const float*, Bf16*, std::size_t);
template void add_f32(const float*, F16*, std::size_t);
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

namespace {

// Elements that do not fill a stretch run through the same additions.
void reduce_few(const float* const* sources, std::size_t count, float* to, std::size_t i,
                std::size_t n, float factor) {
  Floats s = load_first(sources[0] + i, n);
  for (std::size_t r = 1; r < count; ++r) s += load_first(sources[r] + i, n);
  store_first(to + i, s * factor, n);
}
void reduce_rest(const float* const* sources, std::size_t count, float* to, std::size_t begin,
                 std::size_t end, float factor) {
  for (std::size_t i = begin; i < end; i += lanes) {
    reduce_few(sources, count, to, i, end - i < lanes ? end - i : lanes, factor);
  }
}

struct Reduction {
  const float* const* sources;
  std::size_t count;
  float* to;
  std::size_t n;
  float factor;
};

constexpr std::size_t stretch = 64;  // elements; four lines
constexpr std::size_t soon = 1536;   // bytes; nearer than for one stream alone
constexpr int vectors = stretch / lanes;

// One source's part of a stretch, and the memory that will be needed soon.
template <bool adds>
SHARDMARK_INLINE void read(Floats* s, const float* x) {
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) {
    if (v * lanes % 16 == 0) prefetch(x + v * lanes + soon / 4);
    s[v] = adds ? s[v] + load(x + v * lanes) : load(x + v * lanes);
  }
}

// Whole stretches of four lines from element i on: so many sums stay in registers while the sources
// take turns. With the number of sources known when compiling (0: it is not), the loop over them is
// unrolled, and memory kept busier. Returns where it ended.
template <bool streams, std::size_t known>
std::size_t stretches(const Reduction& of, std::size_t i) {
  const std::size_t count = known > 0 ? known : of.count;
  const float* at[known > 0 ? known : 1];
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
template <bool streams>
std::size_t stretches(const Reduction& of, std::size_t i) {
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

void reduce(const float* const* sources, std::size_t count, float* to, std::size_t n, float factor,
            bool streams) {
  constexpr std::size_t line = 16;
  std::size_t i = (line - reinterpret_cast<std::uintptr_t>(to) / 4 % line) % line;
  i = i < n ? i : n;
  reduce_rest(sources, count, to, 0, i, factor);
  const Reduction of{sources, count, to, n, factor};
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

// 32 sums in double, whatever the width of a vector: the same order for every instruction set.
double sum_squares(const float* x, std::size_t n) {
  constexpr int sums = 32, wide = lanes / 2;
  Doubles t[sums / wide] = {};
  std::size_t i = 0;
  for (; i + sums <= n; i += sums) {
#pragma GCC unroll 16
    for (int j = 0; j < sums / wide; ++j) {
      const Half h = *reinterpret_cast<const LooseHalf*>(x + i + j * wide);
      const Doubles d = __builtin_convertvector(h, Doubles);
      t[j] += d * d;
    }
  }
  double total[sums];
  for (int j = 0; j < sums; ++j) total[j] = t[j / wide][j % wide];
  for (std::size_t j = 0; i + j < n; ++j)
    total[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
  for (int half = sums / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) total[j] += total[j + half];
  }
  return total[0];
}

void column_sum(const float* x, float* total, std::size_t rows, std::size_t stride,
                std::size_t begin, std::size_t end) {
  constexpr std::size_t together = 8;  // rows: one load and store of the total for so many
  for (std::size_t r = 0; r < rows; r += together) {
    const std::size_t count = rows - r < together ? rows - r : together;
    const float* from = x + r * stride;
    std::size_t c = begin;
    for (; c + lanes <= end; c += lanes) {
      Floats s = load(from + c);
      for (std::size_t j = 1; j < count; ++j) s += load(from + j * stride + c);
      store(total + c, load(total + c) + s);
    }
    for (; c < end; ++c) {
      float s = from[c];
      for (std::size_t j = 1; j < count; ++j) s += from[j * stride + c];
      total[c] += s;
    }
  }
}

}  // namespace shardmark::cpu::SHARDMARK_ISA
