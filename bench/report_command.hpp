#pragma once
// What does `shardmark report` do with what is typed, and what can be typed behind it?
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace shardmark {

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out, figure, cells, cell, metric, machine;  // as typed; empty: not given
  bool dark = false;
};

CLI::App* add_report(CLI::App&, ReportArguments&);
std::vector<std::string> report_flag_names();

// Returns 0. Throws InputError; then nothing is written.
int report_command(const ReportArguments&);

}  // namespace shardmark
