#pragma once
// What do DeepSpeed's own memory estimators say? The functions of
// deepspeed/runtime/zero/stage_1_and_2.py and stage3.py
// (estimate_zero2_model_states_mem_needs and estimate_zero3_..., DeepSpeed 0.18), which print GiB
// and call them GB. The documentation still shows an older figure for stage 2, 4P + 16P/N.
#include <cstdint>

namespace shardmark {

struct EstimatedNodes {
  std::int64_t gpus_per_node = 1, nodes = 1;
  std::int64_t gpus() const { return gpus_per_node * nodes; }
};

struct Offloading {
  bool optimizer = false, parameters = false;
  bool zero_init = true;       // stage 3: the model is never whole on the host
  double buffer_factor = 1.5;  // of the host's bytes
};

struct DeepSpeedEstimate {
  double gpu_bytes = 0, cpu_bytes = 0;  // of one device; of one node's host
};

// P: all parameters; largest_layer: those of the module that owns most.
DeepSpeedEstimate deepspeed_zero2(double parameters, const EstimatedNodes&, const Offloading& = {});
DeepSpeedEstimate deepspeed_zero3(double parameters, double largest_layer, const EstimatedNodes&,
                                  const Offloading& = {});

}  // namespace shardmark
