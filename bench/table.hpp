#pragma once
// What does sharding buy, and what does it cost? All records of a run as one table.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shardmark {

// records: every round of every cell, in any order. columns: the width to stay within; at least 80.
std::string table(const std::vector<nlohmann::json>& records, int columns = 100);

}  // namespace shardmark
