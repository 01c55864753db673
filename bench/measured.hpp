#pragma once
// What does the report of a training say, as sections of a record? Keys and meaning are
// results/schema.json's; what was not measured is null, and says why.
#include <nlohmann/json.hpp>
#include <string>

#include "impl/train.hpp"

namespace shardmark {

// {"hosts", "emulated_link", "time", "timeline", "steady", "rates", "bytes", "traffic", "training",
// "resident", "checks"}.
nlohmann::json sections_of(const Training&, const TrainingReport&);

// {"emulated_link"}, and why there is none: known before the cell has run.
nlohmann::json emulated_link(const std::optional<Link>&);

// Resident memory that is not this cell's own says nothing of it.
void forget_resident(nlohmann::json& sections, const std::string& why);

}  // namespace shardmark
