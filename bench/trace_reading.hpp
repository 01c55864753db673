#pragma once
// How do tests read a trace? By arithmetic of their own, in whole nanoseconds.
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/test_support.hpp"

namespace shardmark::testing {

inline std::int64_t ns(const nlohmann::json& us) { return std::llround(us.get<double>() * 1000); }

// What of a step a rank's record says, over all measured steps.
inline std::int64_t recorded(const nlohmann::json& record, std::size_t rank,
                             const std::string& key) {
  std::int64_t sum = 0;
  for (const nlohmann::json& v : record["time"]["samples"][rank][key]) sum += v.get<std::int64_t>();
  return sum;
}

class TraceFile {
 public:
  explicit TraceFile(const std::filesystem::path& file)
      : whole_(nlohmann::json::parse(read(file))) {}
  const nlohmann::json& whole() const { return whole_; }
  // tid -1: of all threads.
  std::vector<nlohmann::json> events(const std::string& ph, std::size_t pid, int tid = -1) const {
    std::vector<nlohmann::json> out;
    for (const nlohmann::json& e : whole_["traceEvents"])
      if (e["ph"] == ph && e["pid"] == pid && (tid < 0 || e["tid"] == tid)) out.push_back(e);
    return out;
  }
  // Of spans, by phase: how long they are together. Spans of one queue do not overlap.
  std::map<std::string, std::int64_t> by_phase(std::size_t pid) const {
    std::map<std::string, std::int64_t> out;
    for (const nlohmann::json& e : events("X", pid))
      if (e["args"].contains("phase")) out[e["args"]["phase"]] += ns(e["dur"]);
    return out;
  }
  // Communication, and that of it beside compute: by a sweep over all edges.
  std::pair<std::int64_t, std::int64_t> communication_and_hidden(std::size_t pid) const {
    std::vector<std::array<std::int64_t, 3>> edges;  // when, what begins (+) or ends (-), which
    for (const nlohmann::json& e : events("X", pid)) {
      if (e["cat"] != "compute" && e["cat"] != "communication") continue;
      const std::int64_t which = e["cat"] == "communication";
      edges.push_back({ns(e["ts"]), 1, which});
      edges.push_back({ns(e["ts"]) + ns(e["dur"]), -1, which});
    }
    std::sort(edges.begin(), edges.end());
    std::array<std::int64_t, 2> open{};
    std::int64_t communication = 0, hidden = 0;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const std::int64_t passed = i == 0 ? 0 : edges[i][0] - edges[i - 1][0];
      if (open[1] > 0) communication += passed;
      if (open[0] > 0 && open[1] > 0) hidden += passed;
      open[static_cast<std::size_t>(edges[i][2])] += edges[i][1];
    }
    return {communication, hidden};
  }

 private:
  nlohmann::json whole_;
};

}  // namespace shardmark::testing
