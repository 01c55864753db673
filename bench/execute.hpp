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

// One rank of a cell; all ranks of the group call it. Returns the sections of the record, on rank
// 0. own_process: no other cell ran in this process before.
nlohmann::json trained(const Cell&, mpi::Group&, bool own_process);

// A cell in JSON, from a file or from standard input ("-"). command: who asks, for the sentences.
nlohmann::json cell_text(const std::string& command, const std::string& file);

}  // namespace shardmark
