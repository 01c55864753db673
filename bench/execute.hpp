#pragma once
// What does the process of one cell do? It reads the cell, trains, and prints one JSON object: the
// sections of its record, or why there are none.
#include <nlohmann/json.hpp>
#include <string>

#include "bench/cell.hpp"

namespace shardmark {

// The command `shardmark cell FILE`; "-": standard input. Prints {"sections": ...} or {"failure":
// "a sentence"}, returns the exit code. Ends the process itself where the training failed: its
// ranks may be stuck for good.
int execute_cell(const std::string& file);

}  // namespace shardmark
