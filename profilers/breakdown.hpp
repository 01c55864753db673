#pragma once
// Where did the time of a step go? step = forward + recompute + backward + clip + update + exposed
// + other, by interval union over one rank's timeline (design: a step runs from its first compute
// to the next step's first compute).
#include <array>
#include <vector>

#include "timeline.hpp"

namespace shardmark {

struct StepTimes {
  std::int64_t begin_ns = 0, step_ns = 0;
  std::array<std::int64_t, phases>
      phase_ns{};                     // by Phase; the two of communication are their own unions
  std::int64_t communication_ns = 0;  // union of all communication
  std::int64_t exposed_ns = 0;        // communication during which this rank computed nothing
  std::int64_t hidden_ns = 0;         // communication - exposed
  std::int64_t skew_ns = 0;           // part of communication spent waiting for the last rank
  // Of the step's collectives, each from the last rank's begin to the last rank's end: the same on
  // all ranks. A rank that leaves one early waits in the next: its own time says little.
  std::int64_t transfer_ns = 0;
  std::int64_t hidden_transfer_ns = 0;  // part of hidden that is not skew
  std::int64_t other_ns = 0;            // the residual: neither computing nor communicating
  std::int64_t of(Phase p) const { return phase_ns[static_cast<std::size_t>(p)]; }
};

// One entry a step in [0, steps), each clipped to its own window; the last one ends when its last
// interval does.
std::vector<StepTimes> breakdown(const Timeline&, int steps);

// What of a timeline is in a step's window: intervals that reach into it, clipped to it.
Timeline within(const Timeline&, const StepTimes&);

// The step that stands for all: the index of the lower median of these times, the first of equals.
// A skipped step updates nothing and gathers less: it counts only where no other was made. There
// must be one.
std::size_t lower_median(const std::vector<std::int64_t>& step_ns,
                         const std::vector<bool>& skipped);

}  // namespace shardmark
