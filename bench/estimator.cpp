#include "bench/estimator.hpp"

#include <algorithm>
#include <cmath>

#include "bench/units.hpp"
#include "kernels/error.hpp"

namespace shardmark {

// Each term is cut to a whole number as it is there, by int().
DeepSpeedEstimate deepspeed_zero2(double p, const EstimatedNodes& n, const Offloading& o) {
  const auto gpus = static_cast<double>(n.gpus()), per_node = static_cast<double>(n.gpus_per_node);
  if (o.optimizer) return {2 * p, std::trunc(p * std::max(4 * gpus, 16.0) * o.buffer_factor)};
  return {2 * p + std::trunc(18 * p / gpus), std::trunc(p * 4 * per_node * o.buffer_factor)};
}

DeepSpeedEstimate deepspeed_zero3(double p, double largest_layer, const EstimatedNodes& n,
                                  const Offloading& o) {
  require(o.optimizer || !o.parameters, "parameters are offloaded with the optimizer alone");
  const auto gpus = static_cast<double>(n.gpus()), per_node = static_cast<double>(n.gpus_per_node);
  const double layer = 4 * largest_layer, whole_model = 4 * per_node;
  if (!o.optimizer)
    return {layer + std::trunc(18 * p / gpus),
            std::trunc((o.zero_init ? largest_layer : p) * whole_model * o.buffer_factor)};
  const double share = (o.parameters ? 18 : 16) / static_cast<double>(n.nodes);
  return {layer + (o.parameters ? 0 : std::trunc(2 * p / gpus)),
          std::trunc(p * (o.zero_init ? share : std::max(whole_model, share)) * o.buffer_factor)};
}

ClaimedStates textbook_states(int stage, double p, std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  const auto cut = [&](int from) { return stage >= from ? n : 1.0; };
  return {2 * p / cut(3), 2 * p / cut(2), 4 * p / cut(1), 8 * p / cut(1)};
}

std::vector<EstimatorTerm> estimator_terms(int stage, double p, double largest_layer,
                                           std::int64_t ranks, const ClaimedStates& ours) {
  require(stage == 2 || stage == 3, "DeepSpeed estimates stages 2 and 3");
  const auto n = static_cast<double>(ranks);
  std::vector<EstimatorTerm> terms;
  if (stage == 2) {
    terms.push_back({"parameters, 2 bytes", "2P", 2 * p, ours.parameter, ""});
    terms.push_back({"gradients, 2 bytes", "2P/N", 2 * p / n, ours.gradient, ""});
  } else {
    terms.push_back({"parameters, 2 bytes", "2P/N", 2 * p / n, ours.parameter, ""});
    terms.push_back({"gradients, 2 bytes", "-", 0, ours.gradient,
                     "there only those of the layer that is at work"});
    terms.push_back({"the largest layer, gathered, and its gradient", "4 largest layer",
                     4 * largest_layer, 0,
                     "here no model state: gathered and bucket, which the peak counts"});
  }
  terms.push_back({"gradients, fp32", "4P/N", 4 * p / n, 0,
                   "a copy that DeepSpeed makes for the update; the textbook has none"});
  terms.push_back({"weights, fp32", "4P/N", 4 * p / n, ours.master, ""});
  terms.push_back({"moments, fp32", "8P/N", 8 * p / n, ours.moments, ""});
  const EstimatedNodes nodes{ranks, 1};
  EstimatorTerm sum{"sum", stage == 2 ? "2P + 18P/N" : "4 largest layer + 18P/N", 0, 0, ""};
  sum.deepspeed_bytes = stage == 2 ? deepspeed_zero2(p, nodes).gpu_bytes
                                   : deepspeed_zero3(p, largest_layer, nodes).gpu_bytes;
  for (const EstimatorTerm& t : terms) sum.our_bytes += t.our_bytes;
  terms.push_back(sum);
  return terms;
}

std::string estimator_text(const std::vector<EstimatorTerm>& terms) {
  double largest = 0;
  for (const EstimatorTerm& t : terms)
    largest = std::max({largest, t.deepspeed_bytes, t.our_bytes});
  const DecimalUnit unit = unit_for(largest, "B");
  const auto number = [&](double bytes) { return readable(bytes / unit.size, 3); };
  Grid grid(2);
  grid.row({"ESTIMATOR, " + unit.name, "term", "deepspeed", "here", "difference"});
  std::string reasons;
  for (const EstimatorTerm& t : terms) {
    grid.row({t.what, t.formula, number(t.deepspeed_bytes), number(t.our_bytes),
              number(t.deepspeed_bytes - t.our_bytes)});
    if (!t.why.empty() && t.deepspeed_bytes != t.our_bytes)
      reasons += wrapped(t.what + ": " + t.why, 100, "  ") + "\n";
  }
  return grid.text() + reasons;
}

}  // namespace shardmark
