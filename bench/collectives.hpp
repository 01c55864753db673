#pragma once
// What does `shardmark collectives` do with its flags: what is measured, in which folder are the
// records, and what is shown?
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/collectives_cell.hpp"

namespace shardmark {

struct CollectivesArguments {
  CollectivesFlags given;
  std::string rounds, out;  // as typed; empty: not given
};

// Returns the exit code: 1 where a measurement failed or a result was wrong. Throws InputError
// before anything has run, Error where records cannot be written.
int collectives_command(const CollectivesArguments&);

// 1 where a record failed, a result was wrong (which is said on standard output), or nothing was
// measured; else 0.
int collectives_verdict(const std::vector<nlohmann::json>& records);

}  // namespace shardmark
