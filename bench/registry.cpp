// Which names can a user say? See registry.hpp.
#include "bench/registry.hpp"

#include <algorithm>
#include <utility>

#include "impl/models/registry.hpp"
#include "impl/strategies/strategy.hpp"

namespace shardmark {

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& preset : presets()) names.emplace_back(preset.name);
  return names;
}

std::vector<std::string> strategy_names() {
  // Two may share a place: whoever copies a strategy's file may leave the number in it as it was.
  std::vector<std::pair<int, std::string>> by_place;
  for (const auto& [name, entry] : strategies()) by_place.emplace_back(entry.rank, name);
  std::sort(by_place.begin(), by_place.end());
  std::vector<std::string> names;
  for (const auto& [place, name] : by_place) names.push_back(name);
  return names;
}

bool is_naive(const std::string& strategy) { return strategy.ends_with("_naive"); }

bool gathers_by_unit(const std::string& strategy) {
  const auto found = strategies().find(strategy);
  return found != strategies().end() && found->second.by_unit;
}

}  // namespace shardmark
