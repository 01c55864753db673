#include "traced.hpp"

#include <map>

namespace shardmark {
namespace {

// What was held at the begin, then every change up to the end.
std::vector<MemoryEvent> inside(const std::vector<MemoryEvent>& all, std::int64_t begin,
                                std::int64_t end) {
  std::map<Held, std::uint64_t> held;
  std::vector<MemoryEvent> out;
  for (const MemoryEvent& e : all) {
    if (e.time_ns <= begin) held[{e.tag, e.dtype}] = e.live_bytes;
    if (e.time_ns > begin && e.time_ns <= end) out.push_back(e);
  }
  std::vector<MemoryEvent> first;
  for (const auto& [what, bytes] : held) first.push_back({begin, bytes, what.first, what.second});
  out.insert(out.begin(), first.begin(), first.end());
  return out;
}

}  // namespace

TracedSteps traced(const Timeline& all, const std::vector<MemoryEvent>& memory,
                   std::span<const StepTimes> measured) {
  TracedSteps out;
  StepTimes whole = measured.front();
  whole.step_ns = measured.back().begin_ns + measured.back().step_ns - whole.begin_ns;
  out.begin_ns = whole.begin_ns;
  out.end_ns = whole.begin_ns + whole.step_ns;
  out.timeline = within(all, whole);
  for (const int lane : {0, 1})
    for (const Interval& i : all.lane(lane)) {
      if (i.end_ns > out.begin_ns) break;
      ++out.before[static_cast<std::size_t>(lane)];
      if (is_communication(i.phase)) ++out.collectives_before;
    }
  out.memory = inside(memory, out.begin_ns, out.end_ns);
  return out;
}

}  // namespace shardmark
