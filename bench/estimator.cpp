#include "bench/estimator.hpp"

#include <algorithm>
#include <cmath>

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

}  // namespace shardmark
