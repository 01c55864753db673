#pragma once
// How is a suite executed? In rounds, each over all cells in a seeded random order, every cell in a
// process of its own, one record for each as soon as it ends. A cell that crashes, hangs or runs
// out of memory is a failed record, and the run goes on.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/process.hpp"
#include "bench/run_folder.hpp"
#include "bench/suite.hpp"

namespace shardmark {

// Indices of n cells in the order of this round: the same on every machine and library.
std::vector<std::size_t> order_of(std::size_t n, std::uint64_t seed, std::int64_t round);

struct RunOutcome {
  int interrupted_by = 0;  // a signal; 0: the run is complete
};

// Appends to the folder's records; what is recorded as ok there already is not run again. Throws
// Error where a record cannot be written.
RunOutcome execute(const Suite&, RunFolder&);

// What the end of a cell's process says: the sections of its record, or why it failed.
struct Answer {
  nlohmann::json sections;  // an object, or null
  std::string failure;      // empty: none
};
Answer answer_of(const Cell&, const ProcessEnd&);

}  // namespace shardmark
