#pragma once
// How do traced steps become files that other programs open? JSON in Chrome's trace event format:
// a process a rank, a thread a queue, arrows from a collective to what waits for it and from what
// computed to the collective that waits for that, and what is held by tag. Collectives carry the
// arguments that PyTorch's profiler gives to those of NCCL.
#include <string>

#include "traced.hpp"

namespace shardmark {

struct RankTrace {
  TracedSteps traced;
  std::vector<StepTimes> steps;  // the measured ones
};

struct TraceAbout {
  std::string program, cell;       // "shardmark 0.1.0", the cell's id
  std::string backend;             // who makes the collectives
  std::vector<std::string> units;  // their names, by number
  int first_step = 0;              // the first measured step's number
  bool one_clock = true;           // false: each rank has a zero of its own
  bool two_queues = true;          // false: computes and communicates on one
};

// All ranks in one text, for people: Perfetto, chrome://tracing.
std::string chrome_trace(const std::vector<RankTrace>&, const TraceAbout&);

// One rank alone, for analyzers of PyTorch's traces (HolisticTraceAnalysis): spans are kernels on
// streams, collectives have names that begin with nccl, though no NCCL was there, and steps are
// called ProfilerStep#.
std::string analyzer_trace(const std::vector<RankTrace>&, std::size_t rank, const TraceAbout&);

}  // namespace shardmark
