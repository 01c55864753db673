#pragma once
// Which GPUs does a machine have, and which driver? Two facts of its description.
#include <nlohmann/json.hpp>

namespace shardmark {

// Sets "gpus" and "gpu_driver"; null, with a reason, where there are none.
void add_gpus(nlohmann::json& machine);

}  // namespace shardmark
