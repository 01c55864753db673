// What became of the first run's cells in the later runs of a report? See report_data.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/compare.hpp"
#include "bench/ratio.hpp"
#include "bench/record.hpp"
#include "bench/report_data.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

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
                   const std::vector<double>& now, bool same_losses) {
  json out = {{"id", head.at("id")},
              {"run", head.at("run")},
              {"base_ns", base.at("step_ns")},
              {"head_ns", head.at("step_ns")},
              {"peak_bytes", head["peak_bytes"].get<double>() - base["peak_bytes"].get<double>()},
              {"state_bytes", head["state_bytes"]["measured"].get<double>() -
                                  base["state_bytes"]["measured"].get<double>()},
              {"volume_bytes", head["volume_bytes"]["measured"].get<double>() -
                                   base["volume_bytes"]["measured"].get<double>()},
              {"same_losses", same_losses}};
  if (!usable(before) || !usable(now)) return out;
  const Ratio ratio = ratio_of(before, now);
  out["ratio"] = ratio.estimate;
  out["verdict"] = name(verdict_of(ratio, CompareOptions().threshold));
  if (!ratio.has_interval) return out;
  out["low"] = ratio.low;
  out["high"] = ratio.high;
  return out;
}

// Every step of every round, to the last bit: what the figure draws is thinned out and rounded.
std::map<std::string, std::set<std::string>> losses_of(const ReportRun& run) {
  std::map<std::string, std::set<std::string>> out;
  for (const json& r : run.records)
    if (r.at("training").is_object()) out[id_at(r)].insert(r["training"].at("loss").dump());
  return out;
}

std::set<std::string> ids_of(const ReportRun& run) {
  std::set<std::string> out;
  for (const json& r : run.records) out.insert(id_at(r));
  return out;
}

// What became of it in a run that has no result of it.
std::string absence(const ReportRun& run, const std::string& id, const char* side) {
  return ids_of(run).contains(id) ? fmt::format("failed in {}", side)
                                  : fmt::format("not in {}", side);
}

}  // namespace

std::string other_machine(const ReportRun& base, const ReportRun& head) {
  return other_fact(machine_facts(base), machine_facts(head));
}

json report_differences(const std::vector<ReportRun>& runs, const json& cells) {
  json out = json::array();
  const auto base = std::find_if(runs.begin(), runs.end(),
                                 [](const ReportRun& r) { return r.kind == training_kind; });
  if (base == runs.end()) return out;
  const auto base_steps = steps_of(*base);
  for (auto head = base + 1; head != runs.end(); ++head) {
    if (head->kind != training_kind) continue;
    const auto base_index = static_cast<std::size_t>(base - runs.begin()),
               head_index = static_cast<std::size_t>(head - runs.begin());
    json entry = {{"base", base_index},
                  {"head", head_index},
                  {"other_machine", other_machine(*base, *head)},
                  {"cells", json::array()},
                  {"missing", json::array()}};
    const auto head_steps = steps_of(*head);
    const auto base_losses = losses_of(*base), head_losses = losses_of(*head);
    std::set<std::string> all = ids_of(*base);
    all.merge(ids_of(*head));
    for (const std::string& id : all) {
      const json *was = cell_of(cells, base_index, id), *is = cell_of(cells, head_index, id);
      const auto before = base_steps.find(id), now = head_steps.find(id);
      const bool had = was && before != base_steps.end(), has = is && now != head_steps.end();
      if (had && has)
        entry["cells"].push_back(difference_of(*was, *is, before->second, now->second,
                                               base_losses.at(id) == head_losses.at(id)));
      else
        entry["missing"].push_back({{"id", id},
                                    {"why", !had && !has ? "failed in both"
                                            : had        ? absence(*head, id, "the later run")
                                                         : absence(*base, id, "the first run")}});
    }
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace shardmark
