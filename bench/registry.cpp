// Which names can a user say? See registry.hpp.
#include "bench/registry.hpp"

#include "impl/models/registry.hpp"
#include "impl/strategies/strategy.hpp"

namespace shardmark {

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& preset : presets()) names.emplace_back(preset.name);
  return names;
}

std::vector<std::string> strategy_names() {
  std::map<int, std::string> by_rank;
  for (const auto& [name, entry] : strategies()) by_rank[entry.rank] = name;
  std::vector<std::string> names;
  for (const auto& [rank, name] : by_rank) names.push_back(name);
  return names;
}

}  // namespace shardmark
