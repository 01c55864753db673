#pragma once
// What does the process of one cell do, or of one of its ranks? It reads the cell, trains, and
// prints one JSON object: the sections of its record, or why there are none.
#include <nlohmann/json.hpp>
#include <string>

#include "bench/cell.hpp"
#include "impl/comm/mpi.hpp"

namespace shardmark {

// The command `shardmark cell FILE`; "-": standard input, of rank 0 where a launcher started it.
// Prints {"sections": ...} or {"failure": "a sentence"}, returns the exit code. Ends the process
// itself where the training failed: its ranks may be stuck for good.
int execute_cell(const std::string& file);

// One rank of a cell; all ranks of the group call it. Returns the sections of the record.
nlohmann::json trained(const Cell&, mpi::Group&);

}  // namespace shardmark
