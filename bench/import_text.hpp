#pragma once
// What does the text of a strategy config hold? JSON as DeepSpeed reads it (comments as Hjson has
// them, commas behind the last entry) or YAML as Accelerate writes it, both as one tree.
#include <nlohmann/json.hpp>
#include <string>

namespace shardmark {

// Quoted or not decides whether "no" is a word; a file is of JSON by its name or its first brace.
// Throws InputError: not readable, empty, a key that is there twice; with line and column.
nlohmann::json strategy_tree(const std::string& text, const std::string& file);

}  // namespace shardmark
