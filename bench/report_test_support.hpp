#pragma once
// What do tests of a report ask its data for?
#include <stdexcept>

#include "bench/example_records.hpp"
#include "bench/report_data.hpp"

namespace shardmark::example {

inline nlohmann::json data_of(std::vector<nlohmann::json> records) {
  return report_data({{"example", "run", "training", std::move(records)}}, {});
}

// The first cell whose id has this in it.
inline const nlohmann::json& cell_of(const nlohmann::json& data, const std::string& id_part) {
  for (const nlohmann::json& cell : data.at("cells"))
    if (has(cell.at("id"), id_part)) return cell;
  throw std::runtime_error("no cell " + id_part);
}

}  // namespace shardmark::example
