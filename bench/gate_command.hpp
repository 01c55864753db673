#pragma once
// What does `shardmark gate` do with what is typed, and what can be typed behind it? It is what
// ci/gate calls once it has built base and head.
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace shardmark {

struct GateArguments {
  // As typed; empty: not given.
  std::string base, head, suite, exact_suite, out, pairs, confirm, seed, format, samples, inject;
  bool exact = false, self_test = false;
};

CLI::App* add_gate(CLI::App&, GateArguments&);
std::vector<std::string> gate_flag_names();

// Returns the exit code: 0 nothing became worse; 1 something did, or nothing was measured; 3 the
// control was flagged. Throws InputError, Error.
int gate_command(const GateArguments&);

}  // namespace shardmark
