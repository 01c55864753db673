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

}  // namespace

std::vector<SpanCount> span_counts(const Timeline& t, int step) {
  std::vector<SpanCount> out;
  for (const int lane : {0, 1})
    for (const Interval& i : t.lane(lane))
      if (i.step == step) out.push_back({lane, i.phase, i.label, i.collective, 1});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return key(a) < key(b); });
  std::size_t kinds = 0;
  for (const SpanCount& s : out) {
    if (kinds > 0 && key(out[kinds - 1]) == key(s))
      ++out[kinds - 1].count;
    else
      out[kinds++] = s;
  }
  out.resize(kinds);
  return out;
}

}  // namespace shardmark
