#pragma once
// How is a suite executed? In rounds, each over all cells in a seeded random order, one record for
// each as soon as it ends. A cell that fails is a failed record, and the run goes on. Who runs a
// cell, and where, is not decided here.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/run_folder.hpp"
#include "bench/suite.hpp"

namespace shardmark {

// Indices of n cells in the order of this round: the same on every machine and library.
std::vector<std::size_t> order_of(std::size_t n, std::uint64_t seed, std::int64_t round);

// What came of a cell: the sections of its record, or why there are none.
struct Ended {
  nlohmann::json sections;
  std::string failure;  // empty: none
  std::int64_t wall_ns = 0;
};

struct Attempt {
  std::filesystem::path folder;  // of the run
  std::int64_t round;
};

class CellRunner {
 public:
  virtual ~CellRunner() = default;
  // None where the run was interrupted before the cell had ended by itself.
  virtual std::optional<Ended> run(const Cell&, const Attempt&) = 0;
  // Each cell has processes of its own. Else one that fails ends this process too: then a record
  // of status "started" precedes it.
  virtual bool isolates() const = 0;
  // That ranks on this host may use, all together; more than this process alone where a launcher
  // has bound it.
  virtual int cores() const = 0;
  virtual int interrupted_by() = 0;  // a signal; 0: go on
};

struct RunOutcome {
  int interrupted_by = 0;  // a signal; 0: the run is complete
};

// Appends to the folder's records; what is recorded as ok there already is not run again, and what
// was started and never ended becomes a failed record. Throws Error where one cannot be written.
RunOutcome execute(const Suite&, RunFolder&, CellRunner&);

}  // namespace shardmark
