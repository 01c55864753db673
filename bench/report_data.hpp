#pragma once
// Which data does a report carry? Everything that its figures and its table show, and nothing of
// what they do not: a small part of the records it is made from.
#include <optional>

#include "bench/report_read.hpp"
#include "impl/cluster.hpp"

namespace shardmark {

struct ReportOptions {
  std::string command;                           // as typed
  std::string written_utc;                       // when
  std::size_t timeline_bytes = 3 * 1024 * 1024;  // of all timelines together
  std::optional<Cluster> machine{};  // of these runs: their times are held against predictions
};

// Throws InputError: a record that is not as the schema says.
nlohmann::json report_data(const std::vector<ReportRun>&, const ReportOptions&);

// The first thing in which these runs' machines differ, as far as times are concerned; empty: none.
std::string other_machine(const ReportRun& base, const ReportRun& head);

// Cells of later runs beside those of the first with the same id: steps by ratio with an interval,
// bytes by difference.
nlohmann::json report_differences(const std::vector<ReportRun>&, const nlohmann::json& cells);

}  // namespace shardmark
