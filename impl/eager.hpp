#pragma once
// What more moves through memory where a framework runs every step of an op as a kernel of its own,
// as PyTorch does in eager mode under autocast? Passes over arrays, counted by hand.
#include "kernels/op.hpp"

namespace shardmark {

// Bytes beside those that the op itself must read and write; 0 for an op that is one kernel there,
// too.
double eager_bytes(const Op&);

}  // namespace shardmark
