#pragma once
// The stand-in's matrix fragments (CUDA C++ Programming Guide, "Warp Matrix Functions"): 16 x 16 x 16,
// operands of 2 bytes, sums in f32. A lane has 8 elements of each; which ones is nobody's business,
// here as there.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <limits>
#include <string>

#include "kernels/error.hpp"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  static_assert(m == 16 && n == 16 && k == 16, "the stand-in has no other shape");
  static constexpr int num_elements = 8;
  T x[num_elements];
  fragment() {
    for (T& v : x) {
      if constexpr (sizeof(T) == 4)
        v = std::numeric_limits<T>::quiet_NaN();
      else
        v.bits = 0xffff;
    }
  }
};

namespace standin {

inline int at(unsigned lane, int element) { return static_cast<int>(lane) + 32 * element; }
inline float number(__nv_bfloat16 x) { return __bfloat162float(x); }
inline float number(__half x) { return __half2float(x); }

template <class T>
void check_aligned(const T* p, unsigned stride) {
  shardmark::require(reinterpret_cast<std::uintptr_t>(p) % 32 == 0,
                     "a matrix fragment starts off a multiple of 32 bytes");
  shardmark::require(stride * sizeof(T) % 16 == 0,
                     "the rows of a matrix fragment stand " + std::to_string(stride * sizeof(T)) +
                         " bytes apart, but it must be a multiple of 16");
}
// f(element of the fragment, element of memory).
template <class F>
void each(unsigned stride, bool by_columns, F&& f) {
  for (int e = 0; e < 8; ++e) {
    const auto i = static_cast<unsigned>(at(shardmark::standin::lane(), e)), r = i / 16, c = i % 16;
    f(e, by_columns ? c * stride + r : r * stride + c);
  }
}

template <class A, class B, class C>
struct Multiplication {
  C* d;
  const A* a;
  const B* b;
  const C* c;
};
template <class M>
void multiply(void* const* of_lane, unsigned) {
  float a[256], b[256], d[256];
  const auto each_place = [&](auto&& f) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (int e = 0; e < 8; ++e) f(*static_cast<M*>(of_lane[lane]), e, at(lane, e));
    }
  };
  each_place([&](const M& m, int e, int i) {
    a[i] = number(m.a->x[e]), b[i] = number(m.b->x[e]), d[i] = m.c->x[e];
  });
  for (int i = 0; i < 16; ++i) {
    for (int l = 0; l < 16; ++l) {
      for (int j = 0; j < 16; ++j) d[i * 16 + j] += a[i * 16 + l] * b[l * 16 + j];
    }
  }
  each_place([&](const M& m, int e, int i) { m.d->x[e] = d[i]; });
}

}  // namespace standin

template <class Use, class T, class Layout>
void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout>& to, const T* from, unsigned stride) {
  standin::check_aligned(from, stride);
  standin::each(stride, std::is_same_v<Layout, col_major>,
                [&](int e, std::size_t i) { to.x[e] = from[i]; });
}
template <class T>
void load_matrix_sync(fragment<accumulator, 16, 16, 16, T>& to, const T* from, unsigned stride,
                      layout_t layout) {
  standin::check_aligned(from, stride);
  standin::each(stride, layout == mem_col_major, [&](int e, std::size_t i) { to.x[e] = from[i]; });
}
template <class T>
void store_matrix_sync(T* to, const fragment<accumulator, 16, 16, 16, T>& from, unsigned stride,
                       layout_t layout) {
  standin::check_aligned(to, stride);
  standin::each(stride, layout == mem_col_major, [&](int e, std::size_t i) { to[i] = from.x[e]; });
}
template <class Use, class T, class Layout>
void fill_fragment(fragment<Use, 16, 16, 16, T, Layout>& to, const T& value) {
  for (T& v : to.x) v = value;
}
template <class A, class B, class LayoutA, class LayoutB>
void mma_sync(fragment<accumulator, 16, 16, 16, float>& d,
              const fragment<matrix_a, 16, 16, 16, A, LayoutA>& a,
              const fragment<matrix_b, 16, 16, 16, B, LayoutB>& b,
              const fragment<accumulator, 16, 16, 16, float>& c) {
  static_assert(std::is_same_v<A, B>);
  standin::Multiplication<std::decay_t<decltype(a)>, std::decay_t<decltype(b)>,
                          std::decay_t<decltype(c)>>
      mine{&d, &a, &b, &c};
  shardmark::standin::wait_for_warp(0xffffffffu, &mine, standin::multiply<decltype(mine)>,
                                    "mma_sync");
}

}  // namespace nvcuda::wmma
