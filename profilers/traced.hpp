#pragma once
// What is kept of one rank where its steps are traced? All measured steps whole: what ran, and what
// was held.
#include <span>

#include "breakdown.hpp"
#include "ledgers.hpp"

namespace shardmark {

// From the first measured step's begin to the last one's end; what reaches over an edge is cut
// there.
struct TracedSteps {
  std::int64_t begin_ns = 0, end_ns = 0;
  Timeline timeline;
  // By lane, intervals that ended earlier: a ticket counts them too.
  std::array<std::uint64_t, 2> before{};
  std::uint64_t collectives_before = 0;
  std::vector<MemoryEvent> memory;  // the first ones: what was held at the begin
};

// all: everything that the rank recorded. measured: steps behind each other, at least one.
TracedSteps traced(const Timeline& all, const std::vector<MemoryEvent>&,
                   std::span<const StepTimes> measured);

}  // namespace shardmark
