#pragma once
// What does the process of one measurement of collectives do? It makes the ranks, lets them
// measure, and returns the section of the record.
#include <nlohmann/json.hpp>
#include <string>

#include "bench/collectives_cell.hpp"

namespace shardmark {

// Ranks are threads of this process. The section "collectives" of the record. Throws Error where a
// rank failed.
nlohmann::json collectives_on_threads(const CollectivesCell&);

// The hidden command `shardmark collectives-cell FILE`: measures one cell, in this process or as
// one rank of the job that a launcher has started. Prints {"sections": ...} or {"failure": ...}.
int execute_collectives_cell(const std::string& file);

}  // namespace shardmark
