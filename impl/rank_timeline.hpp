#pragma once
// What do the recorded intervals of one rank say, once they are compared with those of the others?
#include "impl/comm/world.hpp"
#include "impl/train.hpp"

namespace shardmark {

// By step, warm-up included.
std::vector<StepTimes> step_times(const Timeline&, const Training&);

// Collective, behind the drain. Fills in steps, ideal, spans_by_step, timeline and traced of the
// report, which already has its norms.
void read_timeline(Timeline, const std::vector<MemoryEvent>&, const Training&, World&, RankReport&);

}  // namespace shardmark
