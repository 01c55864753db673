#pragma once
// How does a run look to what reads Google Benchmark's JSON, and what does such a file say? The
// name is the cell's id, a round is a repetition, real_time is the median step: so a comparison of
// two exported runs finds the same times as one of the runs themselves.
#include "bench/compare_side.hpp"

namespace shardmark {

bool is_google_benchmark(const nlohmann::json&);

// Raw repetitions, or else the median over them; an entry that failed is a round that did not end.
// file: for sentences. Throws InputError where the file is not as Google Benchmark writes it.
Side side_of_google_benchmark(const nlohmann::json&, const std::string& file);

// records: the latest of each cell and round, at least one.
nlohmann::json google_benchmark_of(const std::vector<nlohmann::json>& records);

}  // namespace shardmark
