#pragma once
// Which runs are kept for good? results/baselines/<machine class>/<suite>.jsonl holds the records
// of runs of one suite on machines of one class, one run behind another: a history of times, and
// what must repeat exactly from now on. Lines are only ever added.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace CLI {
class App;
}

namespace shardmark {

inline constexpr const char* baselines_folder = "results/baselines";

// Of a record's "machine": what has a say in its times or in the last digits of its losses, as the
// name of a folder, such as x86_64-avx2-intel-xeon-4c-onednn-3.1-g++-13.2.0.
std::string machine_class(const nlohmann::json& machine);

struct BaselineArguments {
  std::string run, to;  // as typed; empty: not given
  bool again = false;
};

CLI::App* add_baseline(CLI::App&, BaselineArguments&);
std::vector<std::string> baseline_flag_names();

// Returns 0. Throws InputError: not a whole run of one clean commit, or it is there already.
int baseline_command(const BaselineArguments&);

}  // namespace shardmark
