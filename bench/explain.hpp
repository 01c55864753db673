#pragma once
// Where is every byte of one cell, and what does the formula say? The block that an exercise asks
// for.
#include <nlohmann/json.hpp>
#include <string>

namespace shardmark {

std::string explain(const nlohmann::json& record);

}  // namespace shardmark
