// How does a run look to what reads Google Benchmark's JSON, and what does such a file say? See
// gbench.hpp.
#include "bench/gbench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/record.hpp"
#include "bench/text.hpp"
#include "kernels/error.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

constexpr std::array<std::pair<const char*, double>, 4> units = {
    {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};

double unit_ns(const std::string& unit, const std::string& where) {
  for (const auto& [name, ns] : units)
    if (unit == name) return ns;
  throw InputError(
      fmt::format("{} has the time_unit \"{}\", but it must be ns, us, ms or s.", where, unit));
}

// Files from before there was a run_type tell aggregates by the end of their name only.
std::string aggregate_of(const json& entry) {
  if (entry.contains("run_type"))
    return entry["run_type"] == "aggregate" ? entry.value("aggregate_name", "other") : "";
  const std::string name = entry.at("name");
  for (const char* aggregate : {"mean", "median", "stddev", "cv", "BigO", "RMS"})
    if (name.ends_with(std::string("_") + aggregate)) return aggregate;
  return "";
}

std::string cell_of(const json& entry, const std::string& aggregate, const std::string& file) {
  if (entry.contains("run_name")) return entry["run_name"];
  std::string name = entry.at("name");
  if (aggregate.empty()) return name;
  if (!name.ends_with("_" + aggregate))
    throw InputError(
        fmt::format("{}: the aggregate {} has no run_name and does not end in \"_{}\".", file, name,
                    aggregate));
  name.resize(name.size() - aggregate.size() - 1);
  return name;
}

double time_ns(const json& entry, const std::string& where) {
  const double ns =
      entry.at("real_time").get<double>() * unit_ns(entry.value("time_unit", "ns"), where);
  if (!(ns > 0) || !std::isfinite(ns))
    throw InputError(fmt::format("{} has the real_time {}, but it must be above 0.", where,
                                 entry["real_time"].dump()));
  return ns;
}

struct Seen {
  Sampled sampled;
  std::vector<double> medians;
};

void take(const json& entry, const std::string& file, std::map<std::string, Seen>& cells) {
  const std::string aggregate = aggregate_of(entry);
  if (aggregate == "BigO" || aggregate == "RMS") return;  // of a family, not of a benchmark
  const std::string id = cell_of(entry, aggregate, file);
  const std::string where = fmt::format("{}: {}", file, id);
  Seen& cell = cells[id];  // named, whatever else it says
  const bool failed = entry.value("error_occurred", false);
  if (failed || entry.value("skipped", false)) {
    if (!aggregate.empty()) return;
    ++cell.sampled.failed;
    cell.sampled.reason = entry.value(failed ? "error_message" : "skip_message", "no reason given");
  } else if (aggregate.empty()) {
    cell.sampled.step_ns.push_back(time_ns(entry, where));
  } else if (aggregate == "median") {
    cell.medians.push_back(time_ns(entry, where));
  }
}

json entry_of(const json& record, std::size_t repetitions) {
  const json& cell = record.at("cell");
  json out = {{"name", cell.at("id")},
              {"run_name", cell.at("id")},
              {"run_type", "iteration"},
              {"repetitions", repetitions},
              {"repetition_index", record.at("round").get<std::int64_t>() - 1},
              {"threads", cell.at("ranks")},
              {"iterations", cell.at("steps")}};
  if (text_at(record, "status") != "ok" || !record.at("time").is_object()) {
    out["error_occurred"] = true;
    out["error_message"] = record.at("reason");
    return out;
  }
  const double ms = record.at("time").at("median").at("step_ns").get<double>() / 1e6;
  out.update({{"real_time", ms},
              {"cpu_time", ms},
              {"time_unit", "ms"},
              {"label", "real_time: the median step by the wall clock; cpu_time repeats it"}});
  if (const json& rates = record.at("rates");
      rates.is_object() && rates["tokens_per_second"] != nullptr)
    out["tokens_per_second"] = rates["tokens_per_second"];
  if (const json& bytes = record.at("bytes"); bytes.is_object()) {
    out["peak_bytes"] = bytes.at("peak_bytes");
    out["model_state_bytes"] = bytes.at("model_state").at("measured_bytes");
  }
  if (const json& traffic = record.at("traffic"); traffic.is_object()) {
    double volume = 0;
    for (const json& c : traffic.at("called")) volume += c.at("volume_bytes").get<double>();
    out["volume_bytes"] = volume;
  }
  for (const char* part : {"exposed_ns", "hidden_ns"})
    out[part] = record["time"]["median"].at(part);
  return out;
}

}  // namespace

bool is_google_benchmark(const json& file) {
  return file.is_object() && file.contains("benchmarks") && file["benchmarks"].is_array();
}

Side side_of_google_benchmark(const json& file, const std::string& path) {
  Side side;
  side.path = path;
  side.kind = SideKind::google_benchmark;
  std::map<std::string, Seen> cells;
  try {
    const json context = file.value("context", json::object());
    std::vector<std::string> keys = machine_keys();
    keys.insert(keys.end(), {"num_cpus", "caches"});
    for (const std::string& key : keys)
      if (context.contains(key)) side.machine[key] = context[key];
    side.commit = context.value("commit", "").substr(0, 10);
    for (const json& entry : file.at("benchmarks")) take(entry, path, cells);
  } catch (const json::exception& e) {
    throw InputError(
        fmt::format("{} is not as Google Benchmark writes its JSON: {}.", path, e.what()));
  }
  for (auto& [id, seen] : cells) {
    Sampled& cell = side.cells[id] = std::move(seen.sampled);
    if (cell.step_ns.empty()) cell.step_ns = seen.medians;
    if (!cell.step_ns.empty() || cell.failed > 0) continue;
    cell.failed = 1;
    cell.reason = "the file has neither its repetitions nor their median";
  }
  return side;
}

json google_benchmark_of(const std::vector<json>& records) {
  const json& first = records.front();
  const json& machine = first.at("machine");
  const json build = machine.value("build", json::object());
  json context = {{"date", first.at("started_utc")},
                  {"executable", "shardmark"},
                  {"num_cpus", machine.value("cores_online", json(0))},
                  {"library_build_type", build.value("type", "") == "Debug" ? "debug" : "release"},
                  {"commit", first.at("commit").is_string() ? first["commit"] : json("")}};
  if (const json& hosts = first.at("hosts"); hosts.is_array() && !hosts.empty())
    context["host_name"] = hosts[0];
  for (const std::string& key : machine_keys())
    if (machine.contains(key) && !machine[key].is_null()) context[key] = machine[key];
  std::map<std::string, std::size_t> rounds;
  for (const json& r : records) ++rounds[id_at(r)];
  json entries = json::array();
  for (const auto& [id, count] : rounds)
    for (const json& r : records)
      if (id_at(r) == id) entries.push_back(entry_of(r, count));
  return {{"context", context}, {"benchmarks", entries}};
}

}  // namespace shardmark
