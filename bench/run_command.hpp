#pragma once
// What does `shardmark run` do with its flags: which cells, in which folder, and what is shown when
// they have run?
#include <string>

#include "bench/given_world.hpp"
#include "bench/suite.hpp"

namespace shardmark {

struct RunArguments {
  Given given;                                                  // the flags of cells
  std::string suite, rounds, order_seed, out, resume, explain;  // as typed; empty: not given
  std::string strategy_config;
  std::string profile;  // as typed; empty: not given
  bool trace = false;
};

// Returns the exit code. world: this process is rank 0 of it; none: cells get processes of their
// own. Throws InputError before anything has run, Error where records cannot be written.
int run_command(const RunArguments&, GivenWorld* world = nullptr);

}  // namespace shardmark
