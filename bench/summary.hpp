#pragma once
// Which rows does a run come to? Rounds of one cell become one row, rows that differ only in
// strategy and overlap one group.
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace shardmark {

// One cell over all its rounds. The record shown is the one of the round whose step is the (lower)
// median, so that its parts add up; low and high are the extremes over rounds.
struct Row {
  std::string strategy, id;
  bool overlap = false;
  const nlohmann::json* shown = nullptr;  // null where no round came to its end
  std::vector<const nlohmann::json*> ok, not_ok;
  double low_ns = 0, high_ns = 0;
  double step_ns() const;
};

struct Group {
  nlohmann::json settings;  // the cell without id, strategy and overlap
  std::vector<Row> rows;    // in the order of strategy_names(); without overlap first
  const Row* find(const std::string& strategy, bool overlap) const;
  bool both_overlaps() const;
};

// A (cell, round) recorded twice, as after --resume, counts once: the later one. The records must
// outlive the groups.
std::vector<Group> summarize(const std::vector<nlohmann::json>& records);

// The intervals over rounds cannot tell the two apart. False where either has only one round.
bool indistinct(const Row&, const Row&);

// The most rounds that any row has.
std::size_t rounds_of(const std::vector<Group>&);

// Of how many rounds the intervals are: the rounds that ended, of each row that has at least two.
std::set<std::size_t> interval_rounds(const std::vector<Group>&);

}  // namespace shardmark
