#include "span_counts.hpp"

#include <algorithm>
#include <tuple>

namespace shardmark {
namespace {

auto key(const SpanCount& s) {
  const Collective c = s.collective.value_or(Collective{});
  return std::tuple(s.lane, s.phase, s.label, s.collective.has_value(), c.verb, c.dtype,
                    c.elements);
}

// Sorts; equal kinds become one.
void count(std::vector<SpanCount>& out) {
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return key(a) < key(b); });
  std::size_t kinds = 0;
  for (const SpanCount& s : out) {
    if (kinds > 0 && key(out[kinds - 1]) == key(s))
      ++out[kinds - 1].count;
    else
      out[kinds++] = s;
  }
  out.resize(kinds);
}

}  // namespace

std::vector<std::vector<SpanCount>> span_counts(const Timeline& t, int first, int steps) {
  std::vector<std::vector<SpanCount>> out(static_cast<std::size_t>(steps));
  for (const int lane : {0, 1})
    for (const Interval& i : t.lane(lane))
      if (i.step >= first && i.step < first + steps)
        out[static_cast<std::size_t>(i.step - first)].push_back(
            {lane, i.phase, i.label, i.collective, 1});
  for (std::vector<SpanCount>& step : out) count(step);
  return out;
}

}  // namespace shardmark
