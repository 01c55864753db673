#pragma once
// What does a report say of one cell? Its rounds, distilled: the median round's parts, bytes and
// traffic beside their formulas, losses, and one step's timeline.
#include <nlohmann/json.hpp>

#include "bench/summary.hpp"

namespace shardmark {

// Without its settings, and what it is beside other cells.
nlohmann::json report_cell(const Row&);

// A curve of at most `most` points and 6 digits: what a screen can show. Keeps first and last;
// points are [step, value].
nlohmann::json thinned(const nlohmann::json& values, std::size_t most);

// Marks, with "edge": true, the cells that no other one surely beats: with no more memory and with
// all of its rounds faster. Only cells that do the same work are held against each other: those
// with an equal number under "work".
void mark_edges(nlohmann::json& cells);

}  // namespace shardmark
