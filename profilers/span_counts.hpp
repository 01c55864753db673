#pragma once
// Which spans does a step consist of, whatever their times? A multiset: what a change of the code
// adds, drops or moves to the other queue shows here exactly, on any machine.
#include <vector>

#include "timeline.hpp"

namespace shardmark {

struct SpanCount {
  int lane = 0;  // 0: compute, 1: communication
  Phase phase = Phase::forward;
  int label = 0;
  std::optional<Collective> collective;
  std::uint64_t count = 0;
  bool operator==(const SpanCount&) const = default;
};

// One entry a step in [first, first + steps): of the spans that were enqueued in it; sorted, each
// kind once.
std::vector<std::vector<SpanCount>> span_counts(const Timeline&, int first, int steps);

}  // namespace shardmark
