#pragma once
// What is an event of a trace called, and what does it say? The words of chrome_trace.hpp.
#include <nlohmann/json.hpp>

#include "chrome_trace.hpp"

namespace shardmark {

inline constexpr const char *group_name = "0", *group_description = "default_pg";

double microseconds(std::int64_t ns);

// Of a rank's thread or queue: "compute", "communication"; where there is one for both, lane 0 is.
const char* queue_name(int lane, bool two_queues);
const char* category(const Interval&);  // "compute" or "communication"
std::string step_name(int step);        // "step 3"

// "forward block 3", "reduce_scatter segment 2".
std::string span_name(const Interval&, const std::vector<std::string>& units);
// The same; a collective as NCCL's kernels are called: "ncclDevKernel_ReduceScatter".
std::string kernel_name(const Interval&, const std::vector<std::string>& units);
nlohmann::ordered_json span_args(const Interval&, const TraceAbout&);

// As PyTorch's profiler writes them (torch/csrc/profiler/util.h, ParamCommsUtils). number: of the
// collective, from 1 on, the same on all ranks.
nlohmann::ordered_json collective_args(const Collective&, std::size_t ranks, std::uint64_t number);

// From what had to end to the first that waited for it, once each: from every collective to the
// first computation behind it, and to a collective from the last computation it waits for.
struct Arrow {
  int from_lane, to_lane;
  const Interval *from, *to;
};
std::vector<Arrow> arrows_of(const TracedSteps&);

}  // namespace shardmark
