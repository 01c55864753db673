#pragma once
// What can be typed? The command line of shardmark: its subcommands, their flags, help and version.

namespace shardmark {

// Returns the exit code: 0 all well, 1 a cell failed or a check did not hold, 2 the input is wrong.
// Never throws.
int command_line(int argc, char** argv);

}  // namespace shardmark
