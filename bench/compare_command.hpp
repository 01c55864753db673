#pragma once
// What do `shardmark compare` and `shardmark export` do with what is typed, and what can be typed
// behind them?
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace shardmark {

struct CompareArguments {
  std::string base, head, threshold, format;  // as typed; empty: not given
  bool across_machines = false, exact = false;
};

struct ExportArguments {
  std::string run, format, out;  // as typed; empty: not given
};

CLI::App* add_compare(CLI::App&, CompareArguments&);
CLI::App* add_export(CLI::App&, ExportArguments&);
std::vector<std::string> compare_flag_names();
std::vector<std::string> export_flag_names();

// Returns the exit code: 1 on a regression, a missing cell, or where nothing was compared. Throws
// InputError.
int compare_command(const CompareArguments&);
// Returns 0. Throws InputError.
int export_command(const ExportArguments&);

}  // namespace shardmark
