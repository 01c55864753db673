#pragma once
// Which names can a user say? The models' presets and the registered strategies, in the order in
// which they are shown.
#include <string>
#include <vector>

namespace shardmark {

std::vector<std::string> model_names();
std::vector<std::string> strategy_names();  // of those that share a place, by alphabet

// Is it a variant that shows what its namesake saves, and nothing that one would choose? By its
// name, as files of strategies have it.
bool is_naive(const std::string& strategy);

// Does it gather weights unit by unit, as ZeRO-3 does? False for a name that is not registered.
bool gathers_by_unit(const std::string& strategy);
// What the textbook leaves out for those that do.
inline constexpr const char* gathered_by_unit_text =
    "the textbook counts every parameter twice; a unit's weights may stay gathered across the turn "
    "from forward to backward, and tied weights are gathered by each unit that uses them.";

}  // namespace shardmark
