#pragma once
// How fast are the collectives? All records of a measurement as one table.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shardmark {

// records: of kind collectives, in any order; rounds of one cell come together in its rows.
std::string collectives_table(const std::vector<nlohmann::json>& records,
                              std::size_t columns = 100);

}  // namespace shardmark
