#pragma once
// How does the stand-in play tensor_core.cuh? As the PTX ISA lays fragments out: a warp meets, and
// its matrices are put together and multiplied. A copy to shared memory is made as late as it may
// be, so that a wait that was forgotten shows.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>
#include <deque>
#include <unordered_map>

#include "kernels/error.hpp"
#include "kernels/half.hpp"

namespace shardmark::cuda {
namespace standin_core {

using standin::lane;
using standin::wait_for_warp;
constexpr unsigned everyone = 0xffffffffu;

template <class T>
float number(std::uint16_t bits) {
  if constexpr (std::is_same_v<T, Bf16>) return __bfloat162float({bits});
  if constexpr (!std::is_same_v<T, Bf16>) return __half2float({bits});
}
template <class T>
std::uint16_t bits_of(float x) {
  if constexpr (std::is_same_v<T, Bf16>) return __float2bfloat16_rn(x).bits;
  if constexpr (!std::is_same_v<T, Bf16>) return __float2half_rn(x).bits;
}
inline std::uint16_t half_of(unsigned both, int which) {
  return static_cast<std::uint16_t>(both >> 16 * which);
}

struct Multiplication {
  float* d;
  const unsigned* a;
  unsigned b[2];
};
template <class T>
void multiply_fragments(void* const* of_lane, unsigned) {
  float a[16][16], b[16][8];
  for (unsigned l = 0; l < 32; ++l) {
    const auto& m = *static_cast<Multiplication*>(of_lane[l]);
    const unsigned g = l / 4, t = l % 4;
    for (unsigned i = 0; i < 4; ++i) {
      for (int e = 0; e < 2; ++e)
        a[g + i % 2 * 8][2 * t + i / 2 * 8 + static_cast<unsigned>(e)] =
            number<T>(half_of(m.a[i], e));
    }
    for (unsigned i = 0; i < 2; ++i) {
      for (int e = 0; e < 2; ++e)
        b[2 * t + i * 8 + static_cast<unsigned>(e)][g] = number<T>(half_of(m.b[i], e));
    }
  }
  float sum[16][8] = {};
  for (int r = 0; r < 16; ++r) {
    for (int k = 0; k < 16; ++k) {
      for (int c = 0; c < 8; ++c) sum[r][c] += a[r][k] * b[k][c];
    }
  }
  for (unsigned l = 0; l < 32; ++l) {
    const auto& m = *static_cast<Multiplication*>(of_lane[l]);
    for (unsigned i = 0; i < 4; ++i) m.d[i] += sum[l / 4 + i / 2 * 8][2 * (l % 4) + i % 2];
  }
}

struct Loading {
  unsigned* to;
  const void* row;
};
template <bool transposed>
void load_fragments(void* const* of_lane, unsigned) {
  const auto loading = [&](unsigned l) { return static_cast<Loading*>(of_lane[l]); };
  for (unsigned l = 0; l < 32; ++l) {
    for (unsigned i = 0; i < 4; ++i) {
      std::uint16_t e[2];
      for (unsigned j = 0; j < 2; ++j) {
        const unsigned row = transposed ? 2 * (l % 4) + j : l / 4,
                       column = transposed ? l / 4 : 2 * (l % 4) + j;
        std::memcpy(&e[j], static_cast<const std::uint16_t*>(loading(8 * i + row)->row) + column,
                    2);
      }
      loading(l)->to[i] = e[0] | unsigned{e[1]} << 16;
    }
  }
}

struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;  // the rest of `all` becomes zero
  std::size_t all;
};
// Of one thread of a block: copies that were asked for, and how many of them each group has.
struct Copies {
  std::deque<Copy> asked;
  std::deque<std::size_t> groups;
  std::size_t open = 0;  // in no group yet
  dim3 block;
};
inline Copies& copies() {
  static thread_local std::unordered_map<const void*, Copies> of_threads;
  const standin::Position* const here = standin::here();
  Copies& c = of_threads[here];
  const dim3 &now = here->block->index, before = c.block;
  const bool moved = before.x != now.x || before.y != now.y || before.z != now.z;
  require(!moved || c.asked.empty(), "a block ended while copies to its memory were on their way");
  c.block = now;
  return c;
}

}  // namespace standin_core

template <class T>
void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  standin_core::Multiplication mine{d, a, {b0, b1}};
  standin_core::wait_for_warp(standin_core::everyone, &mine, standin_core::multiply_fragments<T>,
                              "mma");
}

template <bool transposed>
void load_matrices_as(unsigned (&to)[4], const void* row) {
  require(reinterpret_cast<std::uintptr_t>(row) % 16 == 0,
          "ldmatrix: a row starts off a multiple of 16 bytes");
  standin_core::Loading mine{to, row};
  standin_core::wait_for_warp(standin_core::everyone, &mine,
                              standin_core::load_fragments<transposed>, "ldmatrix");
}
inline void load_matrices(unsigned (&to)[4], const void* row) { load_matrices_as<false>(to, row); }
inline void load_matrices_transposed(unsigned (&to)[4], const void* row) {
  load_matrices_as<true>(to, row);
}

template <class T>
unsigned packed(float low, float high) {
  return standin_core::bits_of<T>(low) | unsigned{standin_core::bits_of<T>(high)} << 16;
}
inline float exp2_fast(float x) { return std::exp2(x); }

template <int bytes>
void copy_later(void* to, const void* from, bool exists) {
  for (const void* p : {static_cast<const void*>(to), from})
    require(reinterpret_cast<std::uintptr_t>(p) % bytes == 0,
            "cp.async: an address is no multiple of the bytes it copies");
  auto& c = standin_core::copies();
  c.asked.push_back({to, from, exists ? std::size_t{bytes} : 0, bytes});
  ++c.open;
}
inline void end_of_copies() {
  auto& c = standin_core::copies();
  c.groups.push_back(c.open);
  c.open = 0;
}
template <int open>
void wait_for_copies() {
  auto& c = standin_core::copies();
  for (; c.groups.size() > open; c.groups.pop_front()) {
    for (std::size_t n = c.groups.front(); n > 0; --n, c.asked.pop_front()) {
      const standin_core::Copy& copy = c.asked.front();
      std::memset(copy.to, 0, copy.all);
      std::memcpy(copy.to, copy.from, copy.bytes);
    }
  }
}

}  // namespace shardmark::cuda
