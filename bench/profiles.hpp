#pragma once
// What did the GPUs of a profiled cell do, and what did recording it cost? The record's "profile":
// what CUPTI recorded, beside the events around the same spans.
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/cell.hpp"

namespace shardmark {

struct Trained {
  TrainingReport report;
  // Of a profiled training: of the median step of the same training without the recorder.
  std::optional<std::int64_t> plain_step_ns;
};
// A training that is profiled is made without the recorder first.
Trained trained(const Training&, const std::function<TrainingReport(const Training&)>& train);

// "profile" of a record, null with a reason where nothing could be recorded; no section where the
// cell is not profiled.
void add_profile(const Training&, const Trained&, nlohmann::json& sections);

// One line for each reason for which a cell was not recorded; empty: there is none.
std::string unprofiled_text(const std::vector<nlohmann::json>& records);

}  // namespace shardmark
