#pragma once
// Which names can a user say? The models' presets and the registered strategies, in the order in
// which they are shown.
#include <string>
#include <vector>

namespace shardmark {

std::vector<std::string> model_names();
std::vector<std::string> strategy_names();

}  // namespace shardmark
