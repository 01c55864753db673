#pragma once
// Which runs does a report show? A path names one run's records, or a file to which many runs were
// appended, such as a baseline.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shardmark {

struct ReportRun {
  std::string path, id, kind;           // as typed; the run's id; as in a record
  std::vector<nlohmann::json> records;  // the latest of each cell and round
};

struct ReportRuns {
  std::vector<ReportRun> runs;  // in the order of paths, and within a file as they were appended
  std::vector<std::string> warnings;
};

// What is said of a record that is not as results/schema.json says.
[[noreturn]] void refuse_record(const std::string& path, const nlohmann::json::exception&);

// only: a part of their ids; cells without it are left out. Throws InputError: not readable, no
// records, records of another schema, no cell with `only`.
ReportRuns read_runs(const std::vector<std::string>& paths, const std::string& only = "");

}  // namespace shardmark
