#pragma once
// Over what do the tests of strategies loop? Every one that is registered, by name.
#include <string>
#include <vector>

#include "impl/strategies/strategy.hpp"

namespace shardmark {

inline std::vector<std::string> every_strategy() {
  std::vector<std::string> all;
  for (const auto& [name, entry] : strategies()) all.push_back(name);
  return all;
}

}  // namespace shardmark
