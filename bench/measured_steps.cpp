// What happened in the steps, beside how long it took? See measured_steps.hpp.
#include "bench/measured_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bench/self_checks.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

// Columns: a record holds many intervals.
json lane_of(const Timeline& t, int lane, std::int64_t zero, bool one_clock) {
  json out = {{"phase", json::array()},        {"label", json::array()},
              {"begin_ns", json::array()},     {"end_ns", json::array()},
              {"skew_ns", json::array()},      {"verb", json::array()},
              {"payload_bytes", json::array()}};
  for (const Interval& i : t.lane(lane)) {
    out["phase"].push_back(name(i.phase));
    out["label"].push_back(i.label);
    out["begin_ns"].push_back(i.begin_ns - zero);
    out["end_ns"].push_back(i.end_ns - zero);
    out["skew_ns"].push_back(one_clock ? json(i.skew_ns) : json());
    out["verb"].push_back(i.collective ? json(name(i.collective->verb)) : json());
    out["payload_bytes"].push_back(i.collective ? json(i.collective->bytes()) : json());
  }
  return out;
}

json span_of(const SpanCount& s, std::uint64_t count) {
  json out = {{"queue", s.lane == 0 ? "compute" : "communication"},
              {"phase", name(s.phase)},
              {"label", s.label},
              {"count", count}};
  if (s.collective) {
    out["verb"] = name(s.collective->verb);
    out["dtype"] = name(s.collective->dtype);
    out["payload_bytes"] = s.collective->bytes();
  }
  return out;
}

// The same kinds of all ranks are one entry.
json spans_of(const TrainingReport& r, std::size_t measured) {
  std::vector<SpanCount> all;
  for (const RankReport& rank : r.ranks)
    for (const SpanCount& s : rank.spans_by_step[measured]) {
      const auto same = std::find_if(all.begin(), all.end(), [&](SpanCount known) {
        known.count = s.count;
        return known == s;
      });
      if (same == all.end())
        all.push_back(s);
      else
        same->count += s.count;
    }
  json out = json::array();
  for (const SpanCount& s : all) out.push_back(span_of(s, s.count));
  return out;
}

// Measured steps, counted from 0, that did something.
std::vector<std::size_t> whole_steps(const Training& t, const TrainingReport& r) {
  std::vector<std::size_t> out;
  for (int i = 0; i < t.steps; ++i)
    if (!r.ranks[0].skipped(static_cast<std::size_t>(t.warmup + i)))
      out.push_back(static_cast<std::size_t>(i));
  return out;
}

// The first of these steps in which some rank did something else than in the first one; 0: none.
template <class Of>
std::size_t first_other(const std::vector<std::size_t>& steps, const TrainingReport& r, Of of) {
  for (const std::size_t step : steps)
    for (const RankReport& rank : r.ranks)
      if (of(rank, step) != of(rank, steps.front())) return step;
  return 0;
}

}  // namespace

json timeline_section(const TrainingReport& r, Median median) {
  const auto begin = [&](const RankReport& rank) {
    return rank.steps[static_cast<std::size_t>(median.step)].begin_ns;
  };
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const RankReport& rank : r.ranks) first = std::min(first, begin(rank));
  json ranks = json::array();
  for (std::size_t i = 0; i < r.ranks.size(); ++i) {
    const RankReport& rank = r.ranks[i];
    const std::int64_t zero = r.clocks_comparable ? first : begin(rank);
    ranks.push_back({{"rank", i},
                     {"compute", lane_of(rank.timeline, 0, zero, r.clocks_comparable)},
                     {"communication", lane_of(rank.timeline, 1, zero, r.clocks_comparable)}});
  }
  return {{"step", median.step},
          {"step_ns", r.ranks[static_cast<std::size_t>(median.rank)]
                          .steps[static_cast<std::size_t>(median.step)]
                          .step_ns},
          {"clocks_comparable", r.clocks_comparable},
          {"ranks", std::move(ranks)}};
}

json steady_section(const Training& t, const TrainingReport& r) {
  json out;
  const std::vector<std::size_t> steps = whole_steps(t, r);
  const bool recorded = !r.ranks[0].spans_by_step.empty();
  if (steps.empty() || !recorded) {
    for (const char* key : {"allocations", "spans"})
      set_missing(out, key,
                  recorded ? "all measured steps were skipped" : "the steps were not recorded");
    return out;
  }
  const auto warmup = static_cast<std::size_t>(t.warmup);
  const auto allocations = [&](const RankReport& rank, std::size_t step) {
    return rank.allocations_by_step[warmup + step];
  };
  const auto spans = [](const RankReport& rank, std::size_t step) {
    return rank.spans_by_step[step];
  };
  constexpr const char* differs = "step {} did something else than step {}";
  if (const std::size_t other = first_other(steps, r, allocations)) {
    set_missing(out, "allocations",
                fmt::format(fmt::runtime(differs), warmup + other, warmup + steps.front()));
  } else {
    std::uint64_t all = 0;
    for (const RankReport& rank : r.ranks) all += allocations(rank, steps.front());
    out["allocations"] = all;
  }
  if (const std::size_t other = first_other(steps, r, spans))
    set_missing(out, "spans",
                fmt::format(fmt::runtime(differs), warmup + other, warmup + steps.front()));
  else
    out["spans"] = spans_of(r, steps.front());
  return out;
}

}  // namespace shardmark
