#pragma once
// What can be typed behind `shardmark run`?
#include <string>
#include <vector>

#include "bench/cell_cli.hpp"
#include "bench/run_command.hpp"

namespace CLI {
class App;
}

namespace shardmark {

struct RunTyped {
  TypedCell cell;
  RunArguments run;
};

CLI::App* add_run(CLI::App&, RunTyped&);
// After parsing: refuses a flag that was given twice or empty, with InputError; the others come to
// run.given.
void take_run_flags(const CLI::App&, RunTyped&);
std::vector<std::string> run_flag_names();

}  // namespace shardmark
