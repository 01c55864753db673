// What does the report of a training say, as sections of a record? See measured.hpp.
#include "bench/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "bench/cell.hpp"
#include "bench/checks.hpp"
#include "bench/gpu_section.hpp"
#include "bench/measured_steps.hpp"
#include "bench/self_checks.hpp"
#include "bench/text.hpp"
#include "bench/witness.hpp"
#include "impl/comm/nccl.hpp"
#include "kernels/cpu/math.hpp"
#include "kernels/cuda/device.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

// Sets in[key] to value over by, or says why it cannot be.
void quotient(json& in, const std::string& key, double value, double by, const std::string& why) {
  if (by > 0 && std::isfinite(value / by)) {
    in[key] = value / by;
  } else {
    set_missing(in, key, why);
  }
}

json rates_of(const Training& t, const TrainingReport& r, Median median) {
  const RankReport& rank = r.ranks[median.rank];
  const StepTimes& s = rank.steps[median.step];
  json out = {{"tokens_per_step", r.tokens_per_step},
              {"flops_per_step", r.flops_per_step},
              {"products", t.device == DeviceKind::cuda
                               ? cuda::library() + (t.tf32 ? ", tf32" : "")
                               : cpu::product_path(t.options.precision.parameter)}};
  const std::string no_time = "no time was recorded";
  const auto step_ns = static_cast<double>(s.step_ns);
  quotient(out, "tokens_per_second", static_cast<double>(r.tokens_per_step) * 1e9, step_ns,
           no_time);
  quotient(out, "communication_share", static_cast<double>(s.communication_ns), step_ns, no_time);
  quotient(out, "exposed_share", static_cast<double>(s.exposed_ns), step_ns, no_time);
  const std::string no_rate = "the matrix products alone were not measured";
  quotient(out, "matrix_flops_per_second", r.flops_per_step * 1e9, rank.products_ns, no_rate);
  // What is computed again is no part of the products, so its time is none of theirs.
  const auto compute_ns = static_cast<double>(s.of(Phase::forward) + s.of(Phase::backward));
  if (rank.products_ns > 0) {
    quotient(out, "matrix_share", rank.products_ns, compute_ns, no_time);
  } else {
    set_missing(out, "matrix_share", no_rate);
  }
  return out;
}

json held_of(Held what, const TrainingReport& r) {
  const Claims& c = r.claims;
  json out = {{"tag", name(what.first)},
              {"dtype", name(what.second)},
              {"model_state", is_model_state(what.first)}};
  std::uint64_t most = 0;
  for (const RankReport& rank : r.ranks)
    if (const auto it = rank.held.find(what); it != rank.held.end())
      most = std::max(most, it->second);
  out["measured_bytes"] = most;
  const std::string none = is_model_state(what.first) ? "the textbook has no such entry"
                                                      : "the textbook counts model states only";
  const auto textbook = c.textbook.find(what);
  const auto formula = c.formula.find(what.first);
  const bool has_textbook = textbook != c.textbook.end() && is_model_state(what.first);
  if (has_textbook) {
    out["textbook_bytes"] = textbook->second;
  } else {
    set_missing(out, "textbook_bytes", none);
  }
  if (has_textbook && formula != c.formula.end()) {
    out["formula"] = formula->second;
  } else {
    set_missing(out, "formula", none);
  }
  const auto exact = c.exact.find(what);
  if (exact != c.exact.end()) {
    out["exact_bytes"] = exact->second;
  } else {
    set_missing(out, "exact_bytes", "the strategy's claim has no such entry");
  }
  return out;
}

json bytes_of(const TrainingReport& r) {
  std::set<Held> all;
  for (const auto& [what, bytes] : r.claims.textbook)
    if (is_model_state(what.first)) all.insert(what);
  for (const auto& [what, bytes] : r.claims.exact) all.insert(what);
  json peaks = json::array();
  std::uint64_t peak = 0;
  for (const RankReport& rank : r.ranks) {
    for (const auto& [what, bytes] : rank.held) all.insert(what);
    peaks.push_back(rank.peak_bytes);
    peak = std::max(peak, rank.peak_bytes);
  }
  json held = json::array();
  double textbook = 0, exact = 0;
  std::uint64_t measured = 0, fp32 = 0;
  for (const Held& what : all) {
    json entry = held_of(what, r);
    if (is_model_state(what.first)) {
      if (!entry["textbook_bytes"].is_null()) textbook += entry["textbook_bytes"].get<double>();
      if (!entry["exact_bytes"].is_null()) exact += entry["exact_bytes"].get<double>();
      measured += entry["measured_bytes"].get<std::uint64_t>();
      if (what.second == DType::f32) fp32 += entry["measured_bytes"].get<std::uint64_t>();
    }
    held.push_back(std::move(entry));
  }
  return {{"parameters", r.claims.parameters},
          {"trainable", r.claims.trainable},
          {"kept_whole", r.claims.kept_whole},
          {"padding_elements", r.claims.padding_elements},
          {"held", held},
          {"model_state",
           {{"textbook_bytes", textbook},
            {"exact_bytes", exact},
            {"measured_bytes", measured},
            {"fp32_measured_bytes", fp32}}},
          {"peak_bytes", peak},
          {"peak_by_rank_bytes", peaks}};
}

// JSON has no nan and no infinity.
json numbers(const std::vector<double>& values) {
  json out = json::array();
  for (const double v : values) out.push_back(std::isfinite(v) ? json(v) : json(nullptr));
  return out;
}

json training_of(const TrainingReport& r) {
  const RankReport& first = r.ranks[0];
  std::vector<double> loss(first.loss.size(), 0.0);
  for (const RankReport& rank : r.ranks)
    for (std::size_t i = 0; i < std::min(loss.size(), rank.loss.size()); ++i)
      loss[i] += rank.loss[i] / static_cast<double>(r.ranks.size());
  json skipped = json::array();
  for (std::size_t i = 0; i < first.norm_before.size(); ++i)
    if (first.skipped(i)) skipped.push_back(i);
  json out = {{"loss", numbers(loss)},
              {"skipped_steps", first.skipped_steps},
              {"skipped_at", skipped},
              {"parameter_hash", hex16(first.parameter_hash)}};
  for (const auto& [key, values, why] : {std::tuple("norm_before", &first.norm_before, no_norm),
                                         std::tuple("norm_after", &first.norm_after, no_norm),
                                         std::tuple("loss_scale", &first.loss_scale, no_scaling)}) {
    if (values->empty()) {
      set_missing(out, key, why);
    } else {
      out[key] = numbers(*values);
    }
  }
  return out;
}

// How gradients of all ranks become one: whoever makes the verbs adds in an order and a precision
// of their own.
void set_sums(json& out, const Training& t, const std::string& wire) {
  const bool rounds = t.options.precision.wire != DType::f32;
  const auto rounded = [&](const std::string& when) {
    return rounds ? ", rounded to " + wire + " " + when : "";
  };
  switch (t.options.collectives) {
    case Collectives::memory:
      out["accumulates_in"] = "fp32, over all ranks in rank order" + rounded("once");
      out["mean_applied"] = rounds ? "to the fp32 sum, before its rounding" : "to the sum";
      break;
    case Collectives::ring:
      out["accumulates_in"] = "fp32 at each hop" + rounded("at each hop");
      out["mean_applied"] = rounds ? "at the last hop, before its rounding" : "at the last hop";
      break;
    case Collectives::library:
      out["accumulates_in"] =
          "fp32 at each addition, in the MPI library's order" + rounded("at each addition");
      out["mean_applied"] =
          rounds ? "to the library's sum, behind its rounding" : "to the library's sum";
      break;
    case Collectives::nccl:
      out["accumulates_in"] = "as NCCL does it" + rounded("at each addition");
      out["mean_applied"] = nccl::is_own_mean(t.options.precision.wire, t.ranks)
                                ? "by NCCL (ncclAvg)"
                                : "to NCCL's sum, behind its rounding";
      break;
  }
  // A sum of fp16 could overflow where the mean does not: impl/comm/host.hpp.
  const bool of_ours =
      t.options.collectives == Collectives::ring || t.options.collectives == Collectives::library;
  if (t.options.precision.wire == DType::f16 && of_ours)
    out["mean_applied"] = "to each rank's own gradient, rounded to fp16, before it travels";
}

// Micro-steps add up in the gradient, whole before it is reduced or cut behind that.
void set_micro_steps(json& out, const Training& t) {
  const std::string family = summing_family(t.strategy), type = out["kept_in"];
  if (t.options.accumulate == 1) {
    set_missing(out, "micro_steps", "a step is one micro-step");
  } else if (family == "ddp") {
    out["micro_steps"] = "added in " + type + " in the whole gradient, which is then reduced";
  } else if (family == "zero2") {
    out["micro_steps"] = "each one reduced, and its mean added to the gradient in " + type;
  } else {
    set_missing(out, "micro_steps", "nobody here knows how this strategy adds them");
  }
}

json reduction_of(const Training& t) {
  const std::string wire = type_word(t.options.precision.wire);
  json out = {{"dtype", wire}, {"kept_in", type_word(t.options.precision.gradient)}};
  set_sums(out, t, wire);
  set_micro_steps(out, t);
  return out;
}

void set_unseen(json& resident, const std::string& why) {
  for (const char* key : {"before_bytes", "peak_bytes", "unexplained_bytes", "unexplained_share"})
    set_missing(resident, key, why);
}

json resident_of(const TrainingReport& r) {
  std::uint64_t ledger = 0;
  for (const RankReport& rank : r.ranks) ledger += rank.peak_bytes;
  json out = {{"ledger_bytes", ledger}};
  const std::uint64_t before = r.resident_before_bytes, peak = r.resident_peak_bytes;
  if (before == 0 || peak < before) {
    set_unseen(out, "the system does not say how much memory the process has resident");
    return out;
  }
  const double unexplained = static_cast<double>(peak - before) - static_cast<double>(ledger);
  out["before_bytes"] = before;
  out["peak_bytes"] = peak;
  out["unexplained_bytes"] = static_cast<std::int64_t>(unexplained);
  quotient(out, "unexplained_share", unexplained, static_cast<double>(peak - before),
           "the process did not grow");
  return out;
}

}  // namespace

json emulated_link(const std::optional<Link>& link) {
  json out;
  if (link) {
    out["emulated_link"] = {{"rate_bytes_per_second", link->bytes_per_ns * 1e9},
                            {"latency_ns", link->latency_ns}};
  } else {
    set_missing(out, "emulated_link", "ranks send as fast as it goes");
  }
  return out;
}

void forget_resident(json& sections, const std::string& why) {
  set_unseen(sections.at("resident"), why);
}

json sections_of(const Training& t, const TrainingReport& r) {
  const Median median = median_of(t, r);
  json hosts = json::array();
  for (const RankReport& rank : r.ranks) hosts.push_back(rank.host);
  json out = {{"hosts", hosts},
              {"time", time_section(t, r, median)},
              {"rates", rates_of(t, r, median)},
              {"bytes", bytes_of(r)},
              {"traffic", traffic_section(t, r)},
              {"training", training_of(r)},
              {"resident", resident_of(r)},
              {"timeline", timeline_section(r, median)},
              {"steady", steady_section(t, r)},
              {"checks", self_checks(t, r)}};
  out["traffic"]["reduction"] = reduction_of(t);
  out.update(emulated_link(t.link));
  out.update(gpu_sections(t, r));
  return out;
}

}  // namespace shardmark
