// How is one step of every rank written down small? See report_timeline.hpp.
#include "bench/report_timeline.hpp"

#include <algorithm>
#include <cmath>

namespace shardmark {

namespace {

using nlohmann::json;

std::int64_t in_units(const json& ns) {
  return std::llround(ns.get<double>() / static_cast<double>(timeline_unit_ns));
}

// -1: a name that nobody here knows; the page then shows it as other.
int place(const std::vector<std::string>& names, const json& name) {
  if (!name.is_string()) return -1;
  const auto it = std::find(names.begin(), names.end(), name.get<std::string>());
  return it == names.end() ? -1 : static_cast<int>(it - names.begin());
}

json lane_of(const std::string& queue, const json& spans) {
  json lane = {{"queue", queue}};
  const json& begins = spans.at("begin_ns");
  std::int64_t before = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::int64_t begin = in_units(begins[i]), end = in_units(spans.at("end_ns").at(i));
    lane["begin"].push_back(begin - before);
    lane["length"].push_back(std::max<std::int64_t>(0, end - begin));
    lane["phase"].push_back(place(timeline_phases(), spans.at("phase").at(i)));
    lane["label"].push_back(spans.at("label").at(i));
    before = begin;
  }
  // Of what computes, nothing: left out where no span has it.
  const auto add = [&](const char* to, const char* from, const auto& of) {
    const auto values = spans.find(from);
    if (values == spans.end() || !values->is_array()) return;
    json all = json::array();
    bool any = false;
    for (const json& v : *values) {
      all.push_back(v.is_null() ? json() : json(of(v)));
      any = any || (!v.is_null() && v != 0);
    }
    if (any) lane[to] = std::move(all);
  };
  add("skew", "skew_ns", [](const json& v) { return in_units(v); });
  add("verb", "verb", [](const json& v) { return place(timeline_verbs(), v); });
  add("bytes", "payload_bytes", [](const json& v) { return v; });
  return lane;
}

}  // namespace

const std::vector<std::string>& timeline_phases() {
  static const std::vector<std::string> names = {"forward", "recompute", "backward", "clip",
                                                 "update",  "reduce",    "gather"};
  return names;
}

const std::vector<std::string>& timeline_verbs() {
  static const std::vector<std::string> names = {"all_reduce", "reduce_scatter", "all_gather",
                                                 "broadcast", "barrier"};
  return names;
}

json compact_timeline(const json& timeline) {
  json out = {{"step", timeline.at("step")},
              {"step_ns", timeline.at("step_ns")},
              {"clocks_comparable", timeline.at("clocks_comparable")},
              {"ranks", json::array()}};
  for (const json& rank : timeline.at("ranks")) {
    json lanes = json::array();
    for (const char* queue : {"compute", "communication"})
      if (rank.contains(queue)) lanes.push_back(lane_of(queue, rank.at(queue)));
    out["ranks"].push_back({{"rank", rank.at("rank")}, {"lanes", lanes}});
  }
  return out;
}

void limit_timelines(json& cells, std::size_t most_bytes) {
  std::size_t total = 0;
  for (json& cell : cells) {
    if (!cell.contains("timeline")) continue;
    const std::size_t bytes = cell["timeline"].dump().size();
    total += bytes;
    if (total <= most_bytes) continue;
    total -= bytes;
    cell.erase("timeline");
    cell["timeline_reason"] =
        "left out to keep the page small; make a report of fewer cells with --cells";
  }
}

}  // namespace shardmark
