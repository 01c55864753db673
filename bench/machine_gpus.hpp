#pragma once
// Which GPUs does a machine have, and which driver? Two facts of its description.
#include <nlohmann/json.hpp>

namespace shardmark {

// What the driver and NCCL read of the environment once, where the user has said nothing: to be
// called before any thread is there.
void prepare_for_gpus();

// Sets "gpus" and "gpu_driver"; null, with a reason, where there are none.
void add_gpus(nlohmann::json& machine);

}  // namespace shardmark
