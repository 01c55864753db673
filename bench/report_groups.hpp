#pragma once
// Which cells of a report may be held against each other: in memory and time, and by their losses?
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shardmark {

class ReportGroups {
 public:
  // Numbers from 0: equal for cells of one run that do the same work in another way, so that what
  // one saves against another is a saving. settings: as in Group.
  std::size_t work(std::size_t run, nlohmann::json settings);

  // Equal for cells, of whichever run, whose losses should coincide: the same data in the same
  // batches of all ranks together, through the same model in the same types. cell: a record's.
  std::size_t curve(const nlohmann::json& cell);

  // Of each number that curve() gave, the settings that tell it from the others.
  nlohmann::json curves() const;

 private:
  std::vector<nlohmann::json> works_, curves_;
};

}  // namespace shardmark
