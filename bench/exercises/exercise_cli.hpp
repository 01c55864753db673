#pragma once
// What can be typed behind `shardmark exercise`, and what is done with it?
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace shardmark {

struct ExerciseArguments {
  std::string which, out;  // as typed; empty: not given
};

CLI::App* add_exercise(CLI::App&, ExerciseArguments&);
std::vector<std::string> exercise_flag_names();

// Returns the exit code. Throws InputError before anything has run, Error where a cell failed: then
// nothing is written to a file.
int exercise_command(const ExerciseArguments&);

}  // namespace shardmark
