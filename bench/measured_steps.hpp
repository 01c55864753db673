#pragma once
// What happened in the steps, beside how long it took? The record's "timeline", the picture of the
// median step on all ranks, and its "steady", what every measured step did alike.
#include <nlohmann/json.hpp>

#include "bench/measured_time.hpp"

namespace shardmark {

// Both are null, with a reason, where no time was recorded.
nlohmann::json timeline_section(const TrainingReport&, Median);

// "allocations" and "spans" over all ranks, a step; each null, with a reason, where measured steps
// differ in it. Skipped steps do less and do not count.
nlohmann::json steady_section(const Training&, const TrainingReport&);

}  // namespace shardmark
