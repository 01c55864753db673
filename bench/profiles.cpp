// What did the GPUs of a profiled cell do? See profiles.hpp.
#include "bench/profiles.hpp"

#include <fmt/format.h>

#include <set>

#include "bench/measured.hpp"
#include "bench/measured_time.hpp"
#include "bench/record.hpp"
#include "bench/self_checks.hpp"
#include "profilers/cupti.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
using Steps = std::function<const std::vector<StepTimes>&(const RankReport&)>;

// Of the measured steps: the lower median of the slowest rank's.
std::int64_t median_step_ns(const Training& t, const TrainingReport& r, const Steps& of) {
  std::vector<std::int64_t> step_ns;
  std::vector<bool> skipped;
  for (auto step = static_cast<std::size_t>(t.warmup);
       step < static_cast<std::size_t>(t.warmup + t.steps); ++step) {
    std::int64_t most = 0;
    for (const RankReport& rank : r.ranks) most = std::max(most, of(rank).at(step).step_ns);
    step_ns.push_back(most);
    skipped.push_back(r.ranks[0].skipped(step));
  }
  return step_ns[lower_median(step_ns, skipped)];
}

json sum_of(const Attributed::Sum& s) { return {{"count", s.count}, {"time_ns", s.ns}}; }

json rank_of(std::size_t rank, const Attributed& a) {
  return {{"rank", rank},
          {"activities", sum_of(a.activities)},
          {"nccl", sum_of(a.nccl)},
          {"calls", sum_of(a.calls)},
          {"unattributed", sum_of(a.unattributed)},
          {"idle_spans", a.idle_spans},
          {"untimed", a.untimed},
          {"dropped", a.dropped},
          {"unreadable", a.unreadable},
          {"missing", what_is_missing(a)}};
}

json parts_of(const StepTimes& s) {
  json out;
  for (int p = 0; p < phases; ++p) {
    const auto phase = static_cast<Phase>(p);
    out[fmt::format("{}_ns", name(phase))] = s.of(phase);
  }
  out["communication_ns"] = s.communication_ns;
  out["exposed_ns"] = s.exposed_ns;
  out["hidden_ns"] = s.hidden_ns;
  out["other_ns"] = s.other_ns;
  out["step_ns"] = s.step_ns;
  return out;
}

// Why there is nothing to say of this training; empty: there is.
std::string why_none(const TrainingReport& r) {
  for (const RankReport& rank : r.ranks)
    if (!rank.profile.why_not.empty()) return rank.profile.why_not;
  return "";
}

}  // namespace

Trained trained(const Training& t, const std::function<TrainingReport(const Training&)>& train) {
  if (!t.profile) return {train(t), {}};
  Training plain = t;
  plain.profile = plain.trace = plain.rate_products = false;
  const TrainingReport first = train(plain);
  const std::int64_t plain_ns = median_step_ns(
      t, first, [](const RankReport& r) -> const std::vector<StepTimes>& { return r.steps; });
  return {train(t), plain_ns};
}

void add_profile(const Training& t, const Trained& trained, json& sections) {
  if (!t.profile) return;
  forget_resident(sections, "a profiled cell trains twice in one process, so this is of both");
  const TrainingReport& r = trained.report;
  if (const std::string why = why_none(r); !why.empty())
    return set_missing(sections, "profile", why);
  const Median median = median_of(t, r);
  const RankReport& shown = r.ranks[static_cast<std::size_t>(median.rank)];
  const auto step = static_cast<std::size_t>(median.step);
  const std::int64_t profiled =
      median_step_ns(t, r, [](const RankReport& rank) -> const std::vector<StepTimes>& {
        return rank.profile.by_events;
      });
  json ranks = json::array();
  for (std::size_t i = 0; i < r.ranks.size(); ++i)
    ranks.push_back(rank_of(i, r.ranks[i].profile.sums));
  json& out = sections["profile"] = {{"recorder", "cupti"},
                                     {"library", cupti::library()},
                                     {"plain_step_ns", *trained.plain_step_ns},
                                     {"profiled_step_ns", profiled},
                                     {"ranks", std::move(ranks)},
                                     {"step", median.step},
                                     {"rank", median.rank},
                                     {"by_events", parts_of(shown.profile.by_events.at(step))},
                                     {"by_activities", parts_of(shown.steps.at(step))}};
  if (*trained.plain_step_ns > 0)
    out["profiled_over_plain"] =
        static_cast<double>(profiled) / static_cast<double>(*trained.plain_step_ns);
  else
    set_missing(out, "profiled_over_plain", "a step without the recorder took no time");
}

std::string unprofiled_text(const std::vector<json>& records) {
  std::set<std::string> reasons;
  for (const json& r : records)
    if (const auto it = r.find("profile"); it != r.end() && it->is_null())
      reasons.insert(text_at(r, "profile_reason"));
  std::string text;
  for (const std::string& reason : reasons) text += fmt::format("shardmark: {}\n", reason);
  return text;
}

}  // namespace shardmark
