#pragma once
// Which of NCCL's words are ours? Types and operations, mapped in one place that a test reads.
#include <nccl.h>

#include "impl/comm/nccl.hpp"

namespace shardmark::nccl {

inline ncclDataType_t type_of(DType t) {
  switch (t) {
    case DType::f64:
      return ncclFloat64;
    case DType::f32:
      return ncclFloat32;
    case DType::bf16:
      return ncclBfloat16;
    case DType::f16:
      return ncclFloat16;
    case DType::i32:
      return ncclInt32;
    case DType::u8:
      return ncclUint8;
  }
  throw Error("an element type that NCCL does not know");
}

struct Mean {
  ncclRedOp_t op;
  double factor = 1;  // that is ours to multiply the result with
};
// A mean of f16 divides first: NCCL multiplies by 1/N before it adds (its documentation of ncclAvg
// leaves the order open), so that sums do not overflow where means do not. A sum in bf16 has the
// range of f32, and can be divided behind it, in f32.
inline Mean mean_of(Reduce::Op op, DType type, int ranks) {
  if (op != Reduce::Op::mean) return {ncclSum};
  if (is_own_mean(type, ranks)) return {ncclAvg};
  return {ncclSum, 1.0 / ranks};
}

}  // namespace shardmark::nccl
