#pragma once
// What does a record say of the GPUs that its ranks computed on? Which they were, whether ranks
// shared one, and what the driver saw go beside what the arenas say they took.
#include <nlohmann/json.hpp>

#include "impl/train.hpp"

namespace shardmark {

// "shared_device" and "gpu" of a record; empty where the processor computed.
nlohmann::json gpu_sections(const Training&, const TrainingReport&);

}  // namespace shardmark
