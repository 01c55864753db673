// How long would a step take on a cluster that is not here? See predicted_time.hpp.
#include "bench/predicted_time.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/link_text.hpp"

namespace shardmark {

std::pair<std::string, double> PredictedTime::binds() const {
  const auto largest =
      std::max_element(shares.begin(), shares.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest == shares.end()) return {};
  return {largest->first, largest->second};
}

Cluster cluster_for(Cluster c, const Cell& cell) {
  const auto link = link_of("--link", cell.link);
  if (!link) return c;
  c.gpus_per_node = 1;
  c.between = {link->bytes_per_ns, static_cast<double>(link->latency_ns)};
  c.verbs.clear();
  return c;
}

Placement placement_of(const Cluster& c, const Cell& cell, double held_bytes) {
  const auto here = static_cast<double>(std::min<std::int64_t>(cell.ranks, c.gpus_per_node));
  return {static_cast<int>(cell.ranks), cold_share_of(held_bytes * here, c.cache_bytes),
          cell.link != "none" || !c.cpu.empty()};
}

std::string caveat_of(const Cluster& c, const Cell& cell) {
  if (c.cpu.empty()) return "";
  if (cell.link == "none" && cell.ranks > c.gpus_per_node)
    return fmt::format(
        "{} was measured with a rank on each of its {} cores; beyond that every {} ranks are a "
        "machine of their own here, with links between them as inside: give --link.",
        c.name, c.gpus_per_node, c.gpus_per_node);
  if (cell.threads_per_rank > 1)
    return fmt::format("{} was measured with one thread a rank; these figures are of one, too.",
                       c.name);
  return "";
}

ClusterClock::ClusterClock(const Cluster& c, const Placement& p) : cluster_(c), placement_(p) {}

DryClock ClusterClock::clock() {
  return {[this](const Op& op) {
            const Cost cost = cost_of(cluster_, op, placement_);
            (std::holds_alternative<Transfer>(op) ? collectives_ : compute_) += cost;
            return cost.ns();
          },
          cluster_.contention};
}

PredictedTime ClusterClock::read(const DryReport& dry, double flops, double tokens,
                                 DType type) const {
  PredictedTime out;
  out.step = breakdown(dry.timeline, steps)[1];
  const auto step_ns = static_cast<double>(out.step.step_ns);
  if (step_ns == 0) return out;
  out.tokens_per_s = tokens / step_ns * 1e9;
  const auto peak = cluster_.peak_flops_per_ns.find(type);
  if (peak != cluster_.peak_flops_per_ns.end()) out.mfu = flops / step_ns / peak->second;
  const double exposed = static_cast<double>(out.step.exposed_ns) / step_ns;
  const double busy =
      static_cast<double>(out.step.step_ns - out.step.exposed_ns - out.step.other_ns) / step_ns;
  const auto share = [&out](const char* what, double of, double part, double whole) {
    if (part > 0) out.shares[what] = of * part / whole;
  };
  share("products", busy, compute_.matrix_ns, compute_.ns());
  share("memory", busy, compute_.memory_ns, compute_.ns());
  share("launches", busy, compute_.launch_ns, compute_.ns());
  share("links in a node", exposed, collectives_.inside_ns, collectives_.ns());
  share("network", exposed, collectives_.between_ns, collectives_.ns());
  share("latency", exposed, collectives_.latency_ns, collectives_.ns());
  return out;
}

}  // namespace shardmark
