#include "breakdown.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace shardmark {
namespace {

using Stretch = std::pair<std::int64_t, std::int64_t>;

// Sorted, disjoint stretches that cover the same time.
std::vector<Stretch> united(std::vector<Stretch> v) {
  std::sort(v.begin(), v.end());
  std::vector<Stretch> out;
  for (const Stretch& s : v) {
    if (s.second <= s.first) continue;
    if (!out.empty() && s.first <= out.back().second)
      out.back().second = std::max(out.back().second, s.second);
    else
      out.push_back(s);
  }
  return out;
}

std::int64_t length(const std::vector<Stretch>& v) {
  std::int64_t total = 0;
  for (const Stretch& s : v) total += s.second - s.first;
  return total;
}

// Both lists sorted and disjoint.
std::int64_t overlap(const std::vector<Stretch>& a, const std::vector<Stretch>& b) {
  std::int64_t total = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    total +=
        std::max<std::int64_t>(0, std::min(i->second, j->second) - std::max(i->first, j->first));
    i->second < j->second ? ++i : ++j;
  }
  return total;
}

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
  for (const Interval* i : inside) {
    const Stretch clipped{std::max(i->begin_ns, w.begin), std::min(i->end_ns, w.end)};
    if (clipped.second <= clipped.first) continue;
    by_phase[static_cast<std::size_t>(i->phase)].push_back(clipped);
    (is_communication(i->phase) ? communication : compute).push_back(clipped);
    // A collective waits first and moves then.
    if (is_communication(i->phase))
      moving.push_back({std::max(i->begin_ns + i->skew_ns, w.begin), clipped.second});
    out.skew_ns +=
        std::max<std::int64_t>(0, std::min(i->begin_ns + i->skew_ns, w.end) - clipped.first);
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
