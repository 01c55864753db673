#pragma once
// What does the report of a training say, as sections of a record? Keys and meaning are
// results/schema.json's; what was not measured is null, and says why.
#include <nlohmann/json.hpp>
#include <string>

#include "impl/train.hpp"

namespace shardmark {

// {"time", "rates", "bytes", "traffic", "training", "resident", "checks"}.
nlohmann::json sections_of(const Training&, const TrainingReport&);

}  // namespace shardmark
