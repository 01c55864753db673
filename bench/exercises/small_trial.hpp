#pragma once
// How do tests run the suite of an exercise in a blink? On a small model, in this process, in a
// folder that goes away.
#include <string>

#include "bench/exercises/trial.hpp"
#include "bench/test_support.hpp"

namespace shardmark::testing {

Trial small_trial(const std::string& suite, const Smaller&);

// Whether the words stand there in this order, however lines are broken and columns are filled.
bool has(const std::string& text, const std::string& words);

}  // namespace shardmark::testing
