#pragma once
// What do two programs make of one suite? Each runs it once, with limits of time so that nothing
// hangs, and leaves records: what must repeat is compared, and cells are timed as each of them has
// resolved the line.
#include <string>

#include "bench/gate_pairs.hpp"

namespace shardmark {

struct GateFolders {
  std::filesystem::path base, head;  // records of the suite
};

// The text of a suite that this program carries, or of a file. Throws InputError.
std::string suite_text(const std::string& flag, const std::string& file_or_name);

// The records of one program. Throws as run_sides.
bool run_base(const GateProgram&, const std::filesystem::path& suite,
              const std::filesystem::path& folder, Interrupts&);

// Throws InputError where one of them does not take the suite, Error where it does not end. false:
// interrupted.
bool run_sides(const GateProgram&, const std::filesystem::path& suite, const GateFolders&,
               Interrupts&);

// The cells that ended on both sides, and the control: the first with a core for each thread.
std::vector<GateCell> timed_cells(const GateFolders&);

}  // namespace shardmark
