// What became of the first run's cells in the later runs of a report? See report_data.hpp.
#include <algorithm>
#include <map>

#include "bench/compare_side.hpp"
#include "bench/ratio.hpp"
#include "bench/record.hpp"
#include "bench/report_data.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

constexpr double threshold = 0.03;  // as `shardmark compare` has it

Facts machine_facts(const ReportRun& run) {
  Facts out;
  for (const std::string& key : machine_keys())
    out[key] = run.records.front().at("machine").value(key, json());
  return out;
}

std::map<std::string, std::vector<double>> steps_of(const ReportRun& run) {
  std::map<std::string, std::vector<double>> out;
  for (const json& r : run.records)
    if (text_at(r, "status") == "ok" && r.at("time").is_object())
      out[id_at(r)].push_back(r["time"].at("median").at("step_ns").get<double>());
  return out;
}

const json* cell_of(const json& cells, std::size_t run, const std::string& id) {
  const auto it = std::find_if(cells.begin(), cells.end(), [&](const json& c) {
    return c.at("run") == run && c.at("id") == id && c.contains("step_ns");
  });
  return it == cells.end() ? nullptr : &*it;
}

bool usable(const std::vector<double>& times) {
  return !times.empty() && times.size() <= most_rounds &&
         std::all_of(times.begin(), times.end(), [](double t) { return t > 0; });
}

json difference_of(const json& base, const json& head, const std::vector<double>& before,
                   const std::vector<double>& now) {
  json out = {{"id", head.at("id")},
              {"run", head.at("run")},
              {"base_ns", base.at("step_ns")},
              {"head_ns", head.at("step_ns")},
              {"peak_bytes", head["peak_bytes"].get<double>() - base["peak_bytes"].get<double>()},
              {"state_bytes", head["state_bytes"]["measured"].get<double>() -
                                  base["state_bytes"]["measured"].get<double>()},
              {"volume_bytes", head["volume_bytes"]["measured"].get<double>() -
                                   base["volume_bytes"]["measured"].get<double>()},
              {"same_losses", head.at("loss") == base.at("loss")}};
  if (!usable(before) || !usable(now)) return out;
  const Ratio ratio = ratio_of(before, now);
  out["ratio"] = ratio.estimate;
  out["verdict"] = name(verdict_of(ratio, threshold));
  if (!ratio.has_interval) return out;
  out["low"] = ratio.low;
  out["high"] = ratio.high;
  return out;
}

}  // namespace

json report_differences(const std::vector<ReportRun>& runs, const json& cells) {
  json out = json::array();
  const auto base = std::find_if(runs.begin(), runs.end(),
                                 [](const ReportRun& r) { return r.kind == training_kind; });
  if (base == runs.end()) return out;
  const auto base_steps = steps_of(*base);
  for (auto head = base + 1; head != runs.end(); ++head) {
    if (head->kind != training_kind) continue;
    const std::string other = other_fact(machine_facts(*base), machine_facts(*head));
    const auto base_index = static_cast<std::size_t>(base - runs.begin()),
               head_index = static_cast<std::size_t>(head - runs.begin());
    json entry = {{"base", base_index},
                  {"head", head_index},
                  {"other_machine", other},  // empty: the same
                  {"cells", json::array()},
                  {"missing", json::array()}};
    const auto head_steps = steps_of(*head);
    for (const auto& [id, before] : base_steps) {
      const json *was = cell_of(cells, base_index, id), *is = cell_of(cells, head_index, id);
      const auto now = head_steps.find(id);
      if (was && is && now != head_steps.end()) {
        entry["cells"].push_back(difference_of(*was, *is, before, now->second));
      } else {
        entry["missing"].push_back(id);
      }
    }
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace shardmark
