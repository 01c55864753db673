// Did one cell do what it claims? See self_checks.hpp.
#include "bench/self_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "bench/text.hpp"
#include "bench/witness.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

// Each of these returns the first difference in one sentence; empty: none.
std::string bytes_differ(const TrainingReport& r) {
  for (std::size_t rank = 0; rank < r.ranks.size(); ++rank) {
    const auto& held = r.ranks[rank].held;
    std::set<Held> all;
    for (const auto& [what, bytes] : held) all.insert(what);
    for (const auto& [what, bytes] : r.claims.exact) all.insert(what);
    for (const Held& what : all) {
      const auto measured = held.find(what);
      const auto claimed = r.claims.exact.find(what);
      const double has = measured == held.end() ? 0 : static_cast<double>(measured->second);
      const double said = claimed == r.claims.exact.end() ? 0 : claimed->second;
      if (has != said)
        return fmt::format("rank {} held {:.0f} bytes of {} {} where {:.0f} were claimed", rank,
                           has, name(what.first), name(what.second), said);
    }
  }
  return "";
}

std::string text_of(const Traffic& t) {
  return fmt::format("{} calls, {} bytes of payload and {} of volume", t.calls, t.payload,
                     t.volume);
}

std::string traffic_differs(const TrainingReport& r) {
  for (std::size_t rank = 0; rank < r.ranks.size(); ++rank)
    for (std::size_t step = 0; step < r.ranks[rank].traffic_by_step.size(); ++step) {
      const TrafficLedger& counted = r.ranks[rank].traffic_by_step[step];
      std::set<Called> all;
      for (const auto& [what, traffic] : counted) all.insert(what);
      for (const auto& [what, traffic] : r.claims.exact_calls) all.insert(what);
      for (const Called& what : all) {
        const auto measured = counted.find(what);
        const auto claimed = r.claims.exact_calls.find(what);
        Traffic has = measured == counted.end() ? Traffic{} : measured->second;
        Traffic said = claimed == r.claims.exact_calls.end() ? Traffic{} : claimed->second;
        // The claim is rank 0's: where N does not divide an array (a scalar), ranks send different
        // parts of it.
        if (rank != 0) has.volume = said.volume = 0;
        if (!(has == said))
          return fmt::format("rank {} made {} by {} {} in step {} where {} were claimed", rank,
                             text_of(has), name(what.first), name(what.second), step,
                             text_of(said));
      }
    }
  return "";
}

std::string ranks_differ(const TrainingReport& r) {
  for (std::size_t rank = 1; rank < r.ranks.size(); ++rank)
    if (r.ranks[rank].parameter_hash != r.ranks[0].parameter_hash)
      return fmt::format("rank {} ends with parameters of hash {} and rank 0 with {}", rank,
                         hex16(r.ranks[rank].parameter_hash), hex16(r.ranks[0].parameter_hash));
  return "";
}

std::string something_left(const TrainingReport& r) {
  for (std::size_t rank = 0; rank < r.ranks.size(); ++rank)
    for (const auto& [what, bytes] : r.ranks[rank].left_over)
      if (bytes > 0)
        return fmt::format("rank {} still held {} bytes of {} {} after the last step", rank, bytes,
                           name(what.first), name(what.second));
  return "";
}

// Bit for bit, so that nan equals nan.
bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

std::string norms_differ(const TrainingReport& r) {
  for (std::size_t rank = 1; rank < r.ranks.size(); ++rank)
    if (!same(r.ranks[rank].norm_before, r.ranks[0].norm_before) ||
        !same(r.ranks[rank].norm_after, r.ranks[0].norm_after))
      return fmt::format("rank {} saw other gradient norms than rank 0", rank);
  return "";
}

std::string loss_not_finite(const TrainingReport& r) {
  for (std::size_t rank = 0; rank < r.ranks.size(); ++rank)
    for (std::size_t step = 0; step < r.ranks[rank].loss.size(); ++step)
      if (!std::isfinite(r.ranks[rank].loss[step]))
        return fmt::format("the loss of rank {} was not finite at step {}", rank, step);
  return "";
}

std::string nothing_trained(const Training& t, const TrainingReport& r) {
  for (int i = 0; i < t.steps; ++i)
    if (!r.ranks[0].skipped(static_cast<std::size_t>(t.warmup + i))) return "";
  return fmt::format("all {} measured steps were skipped, since their gradients were not finite",
                     t.steps);
}

void set(json& in, const std::string& check, const std::string& difference) {
  in[check] = difference.empty();
  if (!difference.empty()) in[check + "_reason"] = difference;
}

}  // namespace

void set_missing(json& in, const std::string& key, const std::string& why) {
  in[key] = nullptr;
  in[key + "_reason"] = why;
}

std::uint64_t total_volume(const RankReport& rank) {
  std::uint64_t total = 0;
  for (const TrafficLedger& step : rank.traffic_by_step)
    for (const auto& [what, traffic] : step) total += traffic.volume;
  return total;
}

json self_checks(const Training& t, const TrainingReport& r) {
  json out;
  set(out, "bytes_exact", bytes_differ(r));
  set(out, "traffic_exact", traffic_differs(r));
  set(out, "ranks_agree", ranks_differ(r));
  set(out, "nothing_left", something_left(r));
  set(out, "loss_finite", loss_not_finite(r));
  set(out, "trained", nothing_trained(t, r));
  if (r.order_checked)
    set(out, "ordered", r.disorder);
  else
    set_missing(out, "ordered", "a step has too many collectives to check the order of all");
  const Verdict moved = moved_agrees(t, r);
  out["moved_agrees"] = moved.value;
  if (!moved.reason.empty()) out["moved_agrees_reason"] = moved.reason;
  if (t.options.needs_norm()) {
    set(out, "norms_agree", norms_differ(r));
  } else {
    set_missing(out, "norms_agree", no_norm);
  }
  return out;
}

}  // namespace shardmark
