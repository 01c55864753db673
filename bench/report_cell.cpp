// What does a report say of one cell? See report_cell.hpp.
#include "bench/report_cell.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/record.hpp"
#include "bench/report_timeline.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

constexpr std::size_t curve_points = 200;

json get(const json& in, const char* key) {
  return in.is_object() && in.contains(key) ? in.at(key) : json();
}

// A sum over entries; null where an entry does not know its part.
json sum_of(const json& entries, const char* key) {
  double sum = 0;
  for (const json& e : entries) {
    if (get(e, key).is_null()) return nullptr;
    sum += e[key].get<double>();
  }
  return sum;
}

json breakdown_of(const json& median) {
  json out = json::object();
  for (const char* part : {"forward", "recompute", "backward", "clip", "update", "exposed", "other",
                           "hidden", "communication", "skew", "hidden_transfer"})
    out[part] = get(median, (std::string(part) + "_ns").c_str());
  return out;
}

// Entries of one tag in several element types become one.
json held_of(const json& held) {
  json out = json::array();
  for (const json& h : held) {
    auto entry = std::find_if(out.begin(), out.end(),
                              [&](const json& o) { return o["tag"] == h.at("tag"); });
    if (entry == out.end()) {
      out.push_back({{"tag", h.at("tag")},
                     {"textbook", get(h, "textbook_bytes")},
                     {"exact", get(h, "exact_bytes")},
                     {"measured", h.at("measured_bytes")}});
      continue;
    }
    const auto add = [&](const char* to, const char* from) {
      const json more = get(h, from);
      (*entry)[to] = (*entry)[to].is_null() || more.is_null()
                         ? json()
                         : json((*entry)[to].get<double>() + more.get<double>());
    };
    add("textbook", "textbook_bytes");
    add("exact", "exact_bytes");
    add("measured", "measured_bytes");
  }
  return out;
}

json traffic_of(const json& called) {
  json out = json::array();
  for (const json& c : called)
    out.push_back({{"verb", c.at("verb")},
                   {"dtype", c.at("dtype")},
                   {"calls", c.at("calls")},
                   {"textbook", get(c, "textbook_volume_bytes")},
                   {"exact", c.at("exact_volume_bytes")},
                   {"measured", c.at("volume_bytes")}});
  return out;
}

json failed_checks_of(const json& checks) {
  json out = json::array();
  if (checks.is_object())
    for (const auto& [name, value] : checks.items())
      if (value.is_boolean() && !value.get<bool>()) out.push_back(name);
  return out;
}

void add_measured(json& out, const json& record) {
  const json& bytes = record.at("bytes");
  const json& called = record.at("traffic").at("called");
  const json& state = bytes.at("model_state");
  out["parts_ns"] = breakdown_of(record.at("time").at("median"));
  for (const char* key :
       {"tokens_per_second", "matrix_share", "communication_share", "exposed_share"})
    out[key] = get(record.at("rates"), key);
  out["parameters"] = bytes.at("parameters");
  out["held_bytes"] = held_of(bytes.at("held"));
  out["state_bytes"] = {{"textbook", state.at("textbook_bytes")},
                        {"exact", state.at("exact_bytes")},
                        {"measured", state.at("measured_bytes")}};
  out["peak_bytes"] = bytes.at("peak_bytes");
  out["traffic_bytes"] = traffic_of(called);
  out["volume_bytes"] = {{"textbook", sum_of(called, "textbook_volume_bytes")},
                         {"exact", sum_of(called, "exact_volume_bytes")},
                         {"measured", sum_of(called, "volume_bytes")}};
  out["loss"] = thinned(record.at("training").at("loss"), curve_points);
  out["failed_checks"] = failed_checks_of(get(record, "checks"));
  if (const json timeline = get(record, "timeline"); timeline.is_object()) {
    out["timeline"] = compact_timeline(timeline);
  } else {
    const json reason = get(record, "timeline_reason");
    out["timeline_reason"] =
        reason.is_string() ? reason : json("these records carry no timeline of a step");
  }
}

bool comparable(const json& cell) {
  return cell.contains("step_ns") && cell.contains("peak_bytes");
}

// No more memory, and surely faster: in its slowest round faster than the other in its fastest.
bool beats(const json& a, const json& b) {
  return a["peak_bytes"].get<double>() <= b["peak_bytes"].get<double>() &&
         a["high_ns"].get<double>() < b["low_ns"].get<double>();
}

}  // namespace

json thinned(const json& values, std::size_t most) {
  json out = json::array();
  if (!values.is_array()) return out;
  const std::size_t n = values.size(), kept = std::min(n, most);
  for (std::size_t i = 0; i < kept; ++i) {
    const std::size_t step = kept < 2 ? 0 : i * (n - 1) / (kept - 1);
    if (values[step].is_null()) {
      out.push_back({step, nullptr});
      continue;
    }
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.6g", values[step].get<double>());
    out.push_back({step, std::strtod(digits, nullptr)});
  }
  return out;
}

json report_cell(const Row& row) {
  const json& shown = row.shown ? *row.shown : *row.not_ok.back();
  json out = {{"id", row.id},
              {"strategy", row.strategy},
              {"status", row.shown ? json("ok") : shown.at("status")},
              {"rounds", row.ok.size()},
              {"rounds_failed", row.not_ok.size()},
              {"oversubscribed", shown.at("oversubscribed")},
              {"emulated_link", get(shown, "emulated_link").is_object()},
              {"shared_device", shown.value("shared_device", false)}};
  if (!row.not_ok.empty()) out["reason"] = row.not_ok.back()->at("reason");
  if (!row.shown) return out;
  out["step_ns"] = row.step_ns();
  out["low_ns"] = row.low_ns;
  out["high_ns"] = row.high_ns;
  add_measured(out, shown);
  return out;
}

void mark_edges(json& cells) {
  for (json& cell : cells) {
    if (!comparable(cell)) continue;
    cell["edge"] = std::none_of(cells.begin(), cells.end(), [&](const json& other) {
      return comparable(other) && other.at("work") == cell.at("work") && beats(other, cell);
    });
  }
}

}  // namespace shardmark
