#pragma once
// How does a loop run over elements that may not fill a vector? Vector by vector, and what is left
// over runs through the same code: the body loads and stores through what it is given.
#include "simd.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

struct Whole {
  template <class T>
  SHARDMARK_INLINE Floats from(const T* p) const {
    return load(p);
  }
  template <class T>
  SHARDMARK_INLINE void to(T* p, Floats v) const {
    store(p, v);
  }
};
struct First {  // the first n lanes; the others are 0
  std::size_t n;
  template <class T>
  SHARDMARK_INLINE Floats from(const T* p) const {
    return load_first(p, n);
  }
  template <class T>
  SHARDMARK_INLINE void to(T* p, Floats v) const {
    store_first(p, v, n);
  }
};

// f(i, vector) for the vectors that start at i of [begin, end).
template <class F>
SHARDMARK_INLINE void by_vectors(std::size_t begin, std::size_t end, F&& f) {
  std::size_t i = begin;
  for (; i + lanes <= end; i += lanes) f(i, Whole{});
  if (i < end) f(i, First{end - i});
}

// The sum of f(i, vector) over [0, n), four vectors at a time; f of a zero must be zero.
template <class F>
SHARDMARK_INLINE float sum_of_vectors(std::size_t n, F&& f) {
  constexpr std::size_t together = 4;
  Floats s[together] = {};
  std::size_t i = 0;
  for (; i + together * lanes <= n; i += together * lanes) {
    for (std::size_t j = 0; j < together; ++j) s[j] += f(i + j * lanes, Whole{});
  }
  by_vectors(i, n, [&](std::size_t at, auto vector) { s[0] += f(at, vector); });
  return sum((s[0] + s[1]) + (s[2] + s[3]));
}

}  // namespace shardmark::cpu::SHARDMARK_ISA
