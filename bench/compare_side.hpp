#pragma once
// What does one side of a comparison say? A run's records or a Google Benchmark JSON file, as the
// same thing: times by cell and round, and what must repeat exactly.
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shardmark {

// What must repeat, by its name in words. A null: not there.
using Facts = std::map<std::string, nlohmann::json>;

// What one record says, besides its time.
struct Exact {
  Facts formula;   // bytes and traffic that formulas give: the same on any machine
  Facts memory;    // bytes that libraries have a say in
  Facts training;  // losses, norms, parameters: the same only under the same circumstances
  Facts checks;    // that were made: whether they held
  Facts circumstances;
  Facts settings;  // of the cell
};

struct Sampled {
  std::vector<double> step_ns;  // a round each: the median over steps of the slowest rank's step
  std::vector<Exact> exact;     // a round each; empty where there are only times
  std::size_t failed = 0;       // rounds that did not end
  std::string reason;           // why the last of them did not
};

enum class SideKind { records, google_benchmark };

struct Side {
  std::string path;
  SideKind kind = SideKind::records;
  std::string commit;  // short; empty: not known
  Facts machine;       // what makes it another one
  std::map<std::string, Sampled> cells;
  std::vector<std::string> warnings;
};

// The keys of a record's machine that make it another machine.
const std::vector<std::string>& machine_keys();

// The fact of this name; null: not there.
nlohmann::json value_of(const Facts&, const std::string& key);

// The first fact that two sides have another value of, "cpu: A, then B"; empty where there is none.
std::string other_fact(const Facts& base, const Facts& head);

// The latest record of each cell and round. Throws InputError: not readable, no records, records of
// another schema or kind.
struct RunRecords {
  std::vector<nlohmann::json> records;
  std::vector<std::string> warnings;
};
RunRecords run_records(const std::string& what, const std::filesystem::path& folder_or_file);

// what: BASE or HEAD, for sentences. Throws InputError: none of the three, several machines.
Side read_side(const std::string& what, const std::filesystem::path&);

}  // namespace shardmark
