#include "replay.hpp"

#include <algorithm>
#include <stdexcept>

#include "stretches.hpp"

namespace shardmark {

Timeline replay(const Timeline& real) {
  Timeline ideal;
  const auto next = [&](int lane) { return ideal.lane(lane).size(); };
  const auto ready = [&](int lane) {
    if (next(lane) == real.lane(lane).size()) return false;
    const Interval& i = real.lane(lane)[next(lane)];
    return i.after[0] <= next(0) && i.after[1] <= next(1);
  };
  const auto end_of = [&](int lane, std::uint64_t ticket) {
    return ticket == 0 ? 0 : ideal.lane(lane)[ticket - 1].end_ns;
  };
  while (next(0) < real.lane(0).size() || next(1) < real.lane(1).size()) {
    const int lane = ready(0) ? 0 : 1;
    if (!ready(lane)) throw std::logic_error("a timeline waits for what stands behind it");
    Interval i = real.lane(lane)[next(lane)];
    const std::int64_t worked = i.begin_ns + i.skew_ns, length = i.end_ns - worked;
    if (!i.busy.empty()) i.busy = ran_within(i, worked, i.end_ns);
    i.begin_ns = std::max({end_of(lane, next(lane)), end_of(0, i.after[0]), end_of(1, i.after[1])});
    i.end_ns = i.begin_ns + length;
    for (Stretch& s : i.busy)
      s = {s.begin_ns - worked + i.begin_ns, s.end_ns - worked + i.begin_ns};
    i.skew_ns = 0;
    ideal.add(lane, i);
  }
  return ideal;
}

}  // namespace shardmark
