#pragma once
// What is the norm of each rank's own N-th of the mean gradient, which no training shows since it
// never uses it? The first step's gradient as ZeRO-1 makes it, by its own nouns, on thread ranks of
// this process, up to the norm.
#include <vector>

#include "bench/cell.hpp"

namespace shardmark {

struct SliceNorms {
  std::vector<double> local;          // by rank
  std::vector<std::size_t> elements;  // by rank, padding included
  double over_ranks = 0;              // by GlobalNorm, with its all-reduce
};

// Of a cell of thread ranks that keeps gradients in buckets, with clipping on. Throws Error.
SliceNorms slice_norms(const Cell&);

}  // namespace shardmark
