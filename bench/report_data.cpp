// Which data does a report carry? See report_data.hpp.
#include "bench/report_data.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "bench/record.hpp"
#include "bench/registry.hpp"
#include "bench/report_cell.hpp"
#include "bench/report_groups.hpp"
#include "bench/report_timeline.hpp"
#include "bench/score.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

// Of no interest on a page, whatever they are.
constexpr const char* unremarkable[] = {
    "id",   "timeout_s",          "comm_timeout_s",   "launcher",
    "seed", "memory_limit_bytes", "loss_scale_window"};

json machine_of(const json& m) {
  json out = json::object();
  for (const char* key : {"cpu", "cores_usable", "instruction_set", "libraries", "build"})
    if (m.contains(key)) out[key] = m.at(key);
  return out;
}

json run_of(const ReportRun& run, std::size_t index) {
  const json& first = run.records.front();
  std::set<std::int64_t> rounds;
  for (const json& r : run.records) rounds.insert(r.at("round").get<std::int64_t>());
  return {{"index", index},
          {"path", run.path},
          {"id", run.id},
          {"kind", run.kind},
          {"suite", first.at("suite")},
          {"commit", first.at("commit")},
          {"dirty", first.at("dirty")},
          {"started_utc", first.at("started_utc")},
          {"rounds", rounds.size()},
          {"machine", machine_of(first.at("machine"))}};
}

json settings_of(const json& cell) {
  json out = json::object();
  for (const auto& [key, value] : cell.items())
    if (!key.ends_with("_reason") && !value.is_null()) out[key] = value;
  for (const char* key : unremarkable) out.erase(key);
  out["model"] = model_at(cell);
  return out;
}

void add_cells(json& cells, const ReportRun& run, std::size_t index, ReportGroups& groups) {
  for (const Group& group : summarize(run.records)) {
    for (const Row& row : group.rows) {
      json cell = report_cell(row);
      const json& record = row.shown ? *row.shown : *row.not_ok.back();
      cell["run"] = index;
      cell["settings"] = settings_of(record.at("cell"));
      cell["work"] = groups.work(index, group.settings);
      cell["curve"] = groups.curve(record.at("cell"));
      const Row* ddp = group.find("ddp", row.overlap);
      if (ddp && ddp->shown && row.shown) {
        cell["time_over_ddp"] = row.step_ns() / ddp->step_ns();
        cell["as_fast_as_ddp"] = ddp != &row && indistinct(row, *ddp);
      }
      cells.push_back(std::move(cell));
    }
  }
}

// Settings that all cells share are said once; each cell keeps the others.
json take_common(json& cells) {
  if (cells.empty()) return json::object();
  json common = cells.front()["settings"];
  for (const json& cell : cells)
    for (auto it = common.begin(); it != common.end();)
      it =
          cell["settings"].value(it.key(), json()) == it.value() ? std::next(it) : common.erase(it);
  for (json& cell : cells)
    for (const auto& [key, value] : common.items()) cell["settings"].erase(key);
  return common;
}

void add_collectives(json& out, const ReportRun& run, std::size_t index) {
  for (const json& r : run.records) {
    json entry = {{"run", index},
                  {"id", id_at(r)},
                  {"round", r.at("round")},
                  {"comm", r.at("cell").at("comm")},
                  {"ranks", r.at("cell").at("ranks")},
                  {"status", r.at("status")},
                  {"reason", r.at("reason")},
                  {"oversubscribed", r.at("oversubscribed")},
                  {"emulated_link", r.at("emulated_link").is_object()},
                  {"shared_device", r.value("shared_device", false)},
                  {"link", r.at("cell").at("link")}};
    if (r.at("collectives").is_object()) {
      for (const json& row : r["collectives"].at("rows"))
        entry["rows"].push_back({{"verb", row.at("verb")},
                                 {"by", row.at("collectives")},
                                 {"bytes", row.at("payload_bytes")},
                                 {"median_ns", row.at("median_ns")},
                                 {"factor", row.at("factor")},
                                 {"busbw", row.at("busbw_bytes_per_s")},
                                 {"wrong", row.at("wrong_elements")}});
      for (const json& line : r["collectives"].at("lines"))
        entry["lines"].push_back({{"verb", line.at("verb")},
                                  {"by", line.at("collectives")},
                                  {"alpha_ns", line.at("alpha_ns")},
                                  {"beta_ns_per_byte", line.at("beta_ns_per_byte")},
                                  {"error", line.at("error")},
                                  {"poor", line.at("poor")}});
    }
    out.push_back(std::move(entry));
  }
}

// Of the last run of trainings; null without one, or where nobody has measured the machine.
json score_of(const std::vector<ReportRun>& runs, const std::optional<Cluster>& machine) {
  const auto last = std::find_if(runs.rbegin(), runs.rend(),
                                 [](const ReportRun& run) { return run.kind == training_kind; });
  if (!machine || last == runs.rend()) return nullptr;
  json out = to_json(score(last->records, *machine), *machine);
  // One run needs no name.
  out["run"] = runs.size() > 1 ? json(std::distance(last, runs.rend()) - 1) : json();
  return out;
}

// Those that this build knows in the order of the subject, then the others.
json strategies_of(const json& cells) {
  json names = json::array();
  for (const std::string& known : strategy_names()) names.push_back(known);
  for (const json& cell : cells)
    if (std::find(names.begin(), names.end(), cell["strategy"]) == names.end())
      names.push_back(cell["strategy"]);
  return names;
}

}  // namespace

json report_data(const std::vector<ReportRun>& runs, const ReportOptions& options) {
  json out = {{"command", options.command},
              {"written_utc", options.written_utc},
              {"runs", json::array()},
              {"collectives", json::array()},
              {"phases", timeline_phases()},
              {"verbs", timeline_verbs()},
              {"timeline_unit_ns", timeline_unit_ns}};
  json cells = json::array();
  ReportGroups groups;
  const ReportRun* before = nullptr;  // of the same kind as the one that is looked at
  for (std::size_t i = 0; i < runs.size(); ++i) {
    try {
      out["runs"].push_back(run_of(runs[i], i));
      if (runs[i].kind == collectives_kind) {
        add_collectives(out["collectives"], runs[i], i);
      } else {
        out["runs"].back()["other_machine"] = before ? other_machine(*before, runs[i]) : "";
        before = &runs[i];
        add_cells(cells, runs[i], i, groups);
      }
    } catch (const json::exception& e) {
      refuse_record(runs[i].path, e);
    }
  }
  mark_edges(cells);
  limit_timelines(cells, options.timeline_bytes);
  out["curves"] = groups.curves();
  out["score"] = score_of(runs, options.machine);
  out["strategies"] = strategies_of(cells);
  out["differences"] = report_differences(runs, cells);
  out["common"] = take_common(cells);
  out["cells"] = std::move(cells);
  return out;
}

}  // namespace shardmark
