#pragma once
// Where are the traces of a run, and who can open them? For each traced cell one file of all ranks,
// and one a rank for analyzers. The process of a cell makes them, shardmark run writes them.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/cell.hpp"

namespace shardmark {

// Beside the sections of a record, under the key "traces": the texts of the files. Nothing where
// the cell is not traced.
void add_traces(const Cell&, const Training&, const TrainingReport&, nlohmann::json& sections);

// Writes them below the run's folder, and leaves in their place what the record says of them.
// Where that cannot be the record says why, and is kept.
void write_traces(const std::filesystem::path& folder, nlohmann::json& record);

// It was traced, and its trace could not be written: the run is not all that was asked for.
bool lost_its_trace(const nlohmann::json& record);

// How to open them; empty where the run has none.
std::string traces_text(const std::vector<nlohmann::json>& records,
                        const std::filesystem::path& folder);

}  // namespace shardmark
