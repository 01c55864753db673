#pragma once
// Which numbers go into a measured collective, and is what came out right? Small whole numbers,
// whose sums are exact in f32 in any order; they depend on rank, index and repetition, so that an
// element from another rank, place or call is seen.
#include <cstdint>

#include "kernels/view.hpp"

namespace shardmark {

// What one call works on: the whole array, and which part of it is this rank's.
struct CheckedCall {
  Verb verb;
  std::uint32_t repetition;
  int ranks, rank;
};

// Writes the input of this rank into the whole array; what an all-gather must bring is not there.
void fill_input(const CheckedCall&, View whole);

// How many elements of this rank's result are not exactly what they must be: all of them after
// all_reduce and all_gather, this rank's part after reduce_scatter.
std::uint64_t wrong_elements(const CheckedCall&, ConstView whole);

}  // namespace shardmark
