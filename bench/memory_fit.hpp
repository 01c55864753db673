#pragma once
// Does what is predicted fit into a rank's memory, and by how much does it not?
#include <string>
#include <vector>

#include "bench/prediction.hpp"

namespace shardmark {

// What the peak has more than the memory; 0: it fits.
double over_bytes(const Prediction&, double memory_bytes);
// Whether it fits: null where only a bound of the peak is known, and that does not.
nlohmann::json memory_json(const Prediction&, double memory_bytes);
// One sentence: how many do, or what the nearest lacks where none does.
std::string memory_text(const std::vector<Prediction>&, double memory_bytes);

}  // namespace shardmark
