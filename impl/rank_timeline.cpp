#include "impl/rank_timeline.hpp"

#include <algorithm>
#include <cstring>

#include "impl/rank_run.hpp"
#include "profilers/replay.hpp"

namespace shardmark {
namespace {

// Every rank makes the same collectives in the same order, so the i-th of all ranks are one: how
// long each rank waited for the last one, and how long it took from there.
void compare_collectives(Timeline& t, World& world) {
  struct Times {
    std::int64_t begin, end;
  };
  std::vector<Interval*> mine;
  for (int lane : {0, 1})
    for (Interval& i : t.lane(lane))
      if (is_communication(i.phase)) mine.push_back(&i);
  std::string times;
  for (const Interval* i : mine) {
    const Times one{i->begin_ns, i->end_ns};
    times.append(reinterpret_cast<const char*>(&one), sizeof one);
  }
  const std::vector<std::string> all = world.gather(times);
  for (const std::string& theirs : all)
    require(theirs.size() == times.size(), "ranks made different numbers of collectives");
  for (std::size_t at = 0; at < mine.size(); ++at) {
    Times last{mine[at]->begin_ns, mine[at]->end_ns};
    for (const std::string& theirs : all) {
      Times one{};
      std::memcpy(&one, theirs.data() + at * sizeof one, sizeof one);
      last = {std::max(last.begin, one.begin), std::max(last.end, one.end)};
    }
    mine[at]->skew_ns = std::min(last.begin, mine[at]->end_ns) - mine[at]->begin_ns;
    mine[at]->transfer_ns = last.end - last.begin;
  }
}

// All ranks keep the same step, so that the picture of it is whole.
void keep_median(const Timeline& t, const Training& training, World& world, RankReport& report) {
  std::vector<std::int64_t> step_ns;
  for (int i = 0; i < training.steps; ++i)
    step_ns.push_back(report.steps[static_cast<std::size_t>(training.warmup + i)].step_ns);
  const std::size_t bytes = step_ns.size() * sizeof step_ns[0];
  const std::string mine(reinterpret_cast<const char*>(step_ns.data()), bytes);
  for (const std::string& theirs : world.gather(mine)) {
    require(theirs.size() == bytes, "ranks recorded different numbers of steps");
    std::vector<std::int64_t> other(step_ns.size());
    std::memcpy(other.data(), theirs.data(), bytes);
    for (std::size_t i = 0; i < other.size(); ++i) step_ns[i] = std::max(step_ns[i], other[i]);
  }
  std::vector<bool> skipped(step_ns.size());
  for (std::size_t i = 0; i < skipped.size(); ++i)
    skipped[i] = report.skipped(static_cast<std::size_t>(training.warmup) + i);
  const std::size_t median =
      static_cast<std::size_t>(training.warmup) + lower_median(step_ns, skipped);
  report.timeline = within(t, report.steps[median]);
}

}  // namespace

std::vector<StepTimes> step_times(const Timeline& t, const Training& training) {
  std::vector<StepTimes> steps = breakdown(t, timed_steps_of(training));
  steps.pop_back();  // the closing step: no step begins behind it
  return steps;
}

void read_timeline(Timeline t, const std::vector<MemoryEvent>& memory, const Training& training,
                   World& world, RankReport& report) {
  if (world.one_clock()) compare_collectives(t, world);
  report.steps = step_times(t, training);
  if (training.overlap && world.one_clock()) report.ideal = step_times(replay(t), training);
  const auto warmup = static_cast<std::size_t>(training.warmup);
  const auto measured = static_cast<std::size_t>(training.steps);
  report.spans_by_step = span_counts(t, training.warmup, training.steps);
  if (training.steps > 0) keep_median(t, training, world, report);
  if (training.trace)
    report.traced = traced(t, memory, std::span(report.steps).subspan(warmup, measured));
}

}  // namespace shardmark
