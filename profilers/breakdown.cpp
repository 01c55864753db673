#include "breakdown.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "stretches.hpp"

namespace shardmark {
namespace {

struct Window {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
};

std::vector<Window> windows(const Timeline& t, int steps) {
  std::vector<Window> w(static_cast<std::size_t>(steps));
  for (int lane : {0, 1})
    for (const Interval& i : t.lane(lane)) {
      if (i.step < 0 || i.step >= steps) continue;
      Window& mine = w[static_cast<std::size_t>(i.step)];
      if (!is_communication(i.phase)) mine.begin = std::min(mine.begin, i.begin_ns);
      mine.end = std::max(mine.end, i.end_ns);
    }
  for (std::size_t s = 0; s + 1 < w.size(); ++s) w[s].end = w[s + 1].begin;
  return w;
}

StepTimes measure(const Window& w, const std::vector<const Interval*>& inside) {
  StepTimes out;
  out.begin_ns = w.begin;
  out.step_ns = w.end - w.begin;
  std::array<std::vector<Stretch>, phases> by_phase;
  std::vector<Stretch> compute, communication, moving;
  const auto append = [](std::vector<Stretch>& to, const std::vector<Stretch>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  for (const Interval* i : inside) {
    const std::vector<Stretch> ran = ran_within(*i, w.begin, w.end);
    append(by_phase[static_cast<std::size_t>(i->phase)], ran);
    append(is_communication(i->phase) ? communication : compute, ran);
    if (!is_communication(i->phase)) continue;
    // A collective waits first and moves then.
    const auto moved = ran_within(*i, std::max(w.begin, i->begin_ns + i->skew_ns), w.end);
    append(moving, moved);
    out.skew_ns += length(ran) - length(moved);
  }
  for (std::size_t p = 0; p < phases; ++p) out.phase_ns[p] = length(united(std::move(by_phase[p])));
  compute = united(std::move(compute));
  communication = united(std::move(communication));
  out.communication_ns = length(communication);
  out.hidden_ns = overlap(communication, compute);
  out.hidden_transfer_ns = overlap(united(std::move(moving)), compute);
  out.exposed_ns = out.communication_ns - out.hidden_ns;
  out.other_ns = out.step_ns - length(compute) - out.exposed_ns;
  return out;
}

}  // namespace

std::vector<StepTimes> breakdown(const Timeline& t, int steps) {
  const std::vector<Window> w = windows(t, steps);
  std::vector<std::vector<const Interval*>> inside(w.size());
  for (int lane : {0, 1})
    for (const Interval& i : t.lane(lane))
      // An interval belongs to the window of its own step, and may reach into the next (a gather
      // behind the update).
      for (int s = std::max(0, i.step); s < std::min(steps, i.step + 2); ++s)
        inside[static_cast<std::size_t>(s)].push_back(&i);
  std::vector<StepTimes> out;
  for (std::size_t s = 0; s < w.size(); ++s) out.push_back(measure(w[s], inside[s]));
  for (int lane : {0, 1})
    for (const Interval& i : t.lane(lane))
      if (i.step >= 0 && i.step < steps && i.transfer_ns > 0)
        out[static_cast<std::size_t>(i.step)].transfer_ns += i.transfer_ns;
  return out;
}

Timeline within(const Timeline& t, const StepTimes& step) {
  Timeline out;
  const std::int64_t begin = step.begin_ns, end = step.begin_ns + step.step_ns;
  for (const int lane : {0, 1})
    for (Interval i : t.lane(lane)) {
      if (i.end_ns <= begin || i.begin_ns >= end) continue;
      i.skew_ns =
          std::max<std::int64_t>(0, i.skew_ns - std::max<std::int64_t>(0, begin - i.begin_ns));
      if (!i.busy.empty()) {
        i.busy = ran_within(i, begin, end);
        if (i.busy.empty()) continue;  // it idled there
      }
      i.begin_ns = std::max(i.begin_ns, begin), i.end_ns = std::min(i.end_ns, end);
      out.add(lane, i);
    }
  return out;
}

std::size_t lower_median(const std::vector<std::int64_t>& step_ns,
                         const std::vector<bool>& skipped) {
  std::vector<std::size_t> steps(step_ns.size());
  std::iota(steps.begin(), steps.end(), std::size_t{0});
  if (std::find(skipped.begin(), skipped.end(), false) != skipped.end())
    std::erase_if(steps, [&](std::size_t i) { return skipped[i]; });
  std::stable_sort(steps.begin(), steps.end(),
                   [&](std::size_t a, std::size_t b) { return step_ns[a] < step_ns[b]; });
  return steps[(steps.size() - 1) / 2];
}

}  // namespace shardmark
