#pragma once
// Which values of a cell must repeat and do not, and which could not be compared, and why? No
// tolerance at all: a value of head that no round of base has is another one.
#include "bench/compare.hpp"

namespace shardmark {

// Adds differences, notes and what was compared. Both of rounds that ended.
void compare_exactly(const Sampled& base, const Sampled& head, const CompareOptions&,
                     ComparedCell& out);

}  // namespace shardmark
