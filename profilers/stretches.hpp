#pragma once
// How much time is covered? Sets of nanoseconds, as stretches that are sorted and disjoint.
#include <vector>

#include "timeline.hpp"

namespace shardmark {

// What covers the same time, sorted and disjoint.
std::vector<Stretch> united(std::vector<Stretch>);

std::int64_t length(const std::vector<Stretch>&);

// Of time that both cover.
std::int64_t overlap(const std::vector<Stretch>&, const std::vector<Stretch>&);

// Where something of an interval ran from begin to end.
std::vector<Stretch> ran_within(const Interval&, std::int64_t begin, std::int64_t end);

}  // namespace shardmark
