#pragma once
// What do tensor cores multiply, and how do their operands get there? Warp-wide instructions of
// compute capability 8.0 (PTX ISA, "Warp Level Matrix Instructions", "cp.async"). A fragment is a
// lane's part of a small matrix: with g = lane / 4 and t = lane % 4 it holds, two elements a
// register,
//   a (16 x 16): (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8), each with the next in its row;
//   b (16 x 8):  (2t, g), (2t + 8, g), each with the next in its column;
//   d (16 x 8), f32: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
#include "kernels/cuda/launch.hpp"
#include "kernels/half.hpp"
#if defined(SHARDMARK_STANDIN)
#include "kernels/cuda/standin/tensor_core.hpp"
#endif

namespace shardmark::cuda {

using FragmentA = unsigned[4];
using FragmentD = float[4];

#if !defined(SHARDMARK_STANDIN)

// d += a b.
template <class T>
__device__ inline void multiply(FragmentD& d, const FragmentA& a, unsigned b0, unsigned b1) {
  if constexpr (std::is_same_v<T, Bf16>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

__device__ inline unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
// Four 8 x 8 matrices of 2-byte elements from shared memory: lane l names row l % 8 of matrix l /
// 8. Register i gets elements 2t and 2t + 1 of row g of matrix i; transposed, of column g.
__device__ inline void load_matrices(unsigned (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void load_matrices_transposed(unsigned (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

// Two numbers as elements of one register, the first in the lower half.
template <class T>
__device__ inline unsigned packed(float low, float high) {
  unsigned both;
  if constexpr (std::is_same_v<T, Bf16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  }
  return both;
}
__device__ inline float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Copies 4 or 16 bytes to shared memory while others compute; zeros where there is nothing. They
// are there for the thread that asked once it has waited, and for the block after a barrier.
template <int bytes>
__device__ inline void copy_later(void* to, const void* from, bool exists) {
  const int there = exists ? bytes : 0;
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(to)), "l"(from), "r"(there)
                 : "memory");
  } else {
    static_assert(bytes == 4);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :
                 : "r"(shared_address(to)), "l"(from), "r"(there)
                 : "memory");
  }
}
// Ends a group of copies; waits for all groups but the last `open` ones.
__device__ inline void end_of_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int open>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(open) : "memory");
}

#endif

}  // namespace shardmark::cuda
