// Where did the time of the measured steps go? See measured_time.hpp.
#include "bench/measured_time.hpp"

#include <algorithm>
#include <numeric>

#include "bench/self_checks.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

constexpr const char* other_clocks =
    "ranks on several hosts have no clock in common, so nobody knows who waited for whom";
constexpr const char* no_overlap =
    "without overlap nothing can be hidden, so there is no ideal to replay";

// The ideal is of the same step and rank; null where nobody replayed it.
const StepTimes* ideal_of(const RankReport& rank, int step) {
  const auto i = static_cast<std::size_t>(step);
  return i < rank.ideal.size() ? &rank.ideal[i] : nullptr;
}

json breakdown_of(const Training& t, const TrainingReport& r, Median at) {
  const RankReport& rank = r.ranks[static_cast<std::size_t>(at.rank)];
  const StepTimes& s = rank.steps[static_cast<std::size_t>(at.step)];
  json out = {{"step", at.step},
              {"rank", at.rank},
              {"step_ns", s.step_ns},
              {"forward_ns", s.of(Phase::forward)},
              {"recompute_ns", s.of(Phase::recompute)},
              {"backward_ns", s.of(Phase::backward)},
              {"clip_ns", s.of(Phase::clip)},
              {"update_ns", s.of(Phase::update)},
              {"reduce_ns", s.of(Phase::reduce)},
              {"gather_ns", s.of(Phase::gather)},
              {"communication_ns", s.communication_ns},
              {"exposed_ns", s.exposed_ns},
              {"hidden_ns", s.hidden_ns},
              {"other_ns", s.other_ns}};
  for (const auto& [key, ns] :
       {std::pair("skew_ns", s.skew_ns), std::pair("transfer_ns", s.transfer_ns),
        std::pair("hidden_transfer_ns", s.hidden_transfer_ns)}) {
    if (r.clocks_comparable) {
      out[key] = ns;
    } else {
      set_missing(out, key, other_clocks);
    }
  }
  if (const StepTimes* ideal = ideal_of(rank, at.step)) {
    out["ideal_hidden_ns"] = ideal->hidden_ns;
    out["ideal_exposed_ns"] = ideal->exposed_ns;
  } else {
    const char* why = t.overlap ? "the recorded events were not replayed" : no_overlap;
    set_missing(out, "ideal_hidden_ns", why);
    set_missing(out, "ideal_exposed_ns", why);
  }
  return out;
}

json samples_of(const Training& t, const TrainingReport& r, int rank) {
  std::vector<json> steps;
  for (int i = 0; i < t.steps; ++i) steps.push_back(breakdown_of(t, r, {t.warmup + i, rank}));
  json out;
  for (const char* key :
       {"step_ns", "forward_ns", "recompute_ns", "backward_ns", "clip_ns", "update_ns",
        "exposed_ns", "other_ns", "communication_ns", "hidden_ns", "reduce_ns", "gather_ns",
        "skew_ns", "transfer_ns", "hidden_transfer_ns", "ideal_hidden_ns", "ideal_exposed_ns"}) {
    json values = json::array();
    for (const json& step : steps) {
      if (step.at(key).is_null()) {
        set_missing(out, key, step.at(std::string(key) + "_reason").get<std::string>());
        break;
      }
      values.push_back(step.at(key));
    }
    if (!out.contains(key)) out[key] = std::move(values);
  }
  return out;
}

}  // namespace

Median median_of(const Training& t, const TrainingReport& r) {
  const auto slowest = [&](int step) {
    int rank = 0;
    for (int i = 1; i < t.ranks; ++i)
      if (r.ranks[i].steps[step].step_ns > r.ranks[rank].steps[step].step_ns) rank = i;
    return rank;
  };
  std::vector<std::int64_t> step_ns;
  std::vector<bool> skipped;
  for (int step = t.warmup; step < t.warmup + t.steps; ++step) {
    step_ns.push_back(r.ranks[slowest(step)].steps[step].step_ns);
    skipped.push_back(r.ranks[0].skipped(static_cast<std::size_t>(step)));
  }
  const int step = t.warmup + static_cast<int>(lower_median(step_ns, skipped));
  return {step, slowest(step)};
}

json time_section(const Training& t, const TrainingReport& r, Median median) {
  json step_ns = json::array(), samples = json::array();
  for (int i = 0; i < t.steps; ++i) {
    std::int64_t most = 0;
    for (const RankReport& rank : r.ranks) most = std::max(most, rank.steps[t.warmup + i].step_ns);
    step_ns.push_back(most);
  }
  for (int rank = 0; rank < t.ranks; ++rank) samples.push_back(samples_of(t, r, rank));
  return {{"warmup_steps_dropped", t.warmup},
          {"step_ns", step_ns},
          {"median", breakdown_of(t, r, median)},
          {"samples", samples}};
}

}  // namespace shardmark
