#include "stretches.hpp"

#include <algorithm>

namespace shardmark {

std::vector<Stretch> united(std::vector<Stretch> v) {
  std::sort(v.begin(), v.end());
  std::vector<Stretch> out;
  for (const Stretch& s : v) {
    if (s.end_ns <= s.begin_ns) continue;
    if (!out.empty() && s.begin_ns <= out.back().end_ns)
      out.back().end_ns = std::max(out.back().end_ns, s.end_ns);
    else
      out.push_back(s);
  }
  return out;
}

std::int64_t length(const std::vector<Stretch>& v) {
  std::int64_t total = 0;
  for (const Stretch& s : v) total += s.end_ns - s.begin_ns;
  return total;
}

std::int64_t overlap(const std::vector<Stretch>& a, const std::vector<Stretch>& b) {
  std::int64_t total = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    total += std::max<std::int64_t>(
        0, std::min(i->end_ns, j->end_ns) - std::max(i->begin_ns, j->begin_ns));
    i->end_ns < j->end_ns ? ++i : ++j;
  }
  return total;
}

std::vector<Stretch> ran_within(const Interval& i, std::int64_t begin, std::int64_t end) {
  std::vector<Stretch> out;
  const auto add = [&](Stretch s) {
    s = {std::max(s.begin_ns, begin), std::min(s.end_ns, end)};
    if (s.begin_ns < s.end_ns) out.push_back(s);
  };
  if (i.busy.empty()) add({i.begin_ns, i.end_ns});
  for (const Stretch& s : i.busy) add(s);
  return out;
}

}  // namespace shardmark
