// What does one side of a comparison say? See compare_side.hpp.
#include "bench/compare_side.hpp"

#include <fmt/format.h>

#include "bench/compare_facts.hpp"
#include "bench/gbench.hpp"
#include "bench/record.hpp"
#include "bench/text.hpp"
#include "kernels/error.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* what_it_may_be =
    "a run's folder, its records.jsonl or a JSON file of Google Benchmark";

Facts machine_of(const json& record) {
  Facts out;
  for (const std::string& key : machine_keys())
    if (const auto it = record.at("machine").find(key); it != record["machine"].end())
      out[key] = *it;
  return out;
}

// A folder's records, or the file itself.
fs::path file_of(const std::string& what, const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  if (!fs::exists(path / "records.jsonl", ignored))
    throw InputError(fmt::format("{}: the folder {} holds no records.jsonl; it must be {}.", what,
                                 path.string(), what_it_may_be));
  return path / "records.jsonl";
}

// A baseline holds one run behind another: the last one counts.
void keep_last_run(Records& read, const fs::path& file) {
  if (read.records.empty()) return;
  const std::string last = text_at(read.records.back(), "run");
  const std::size_t left =
      std::erase_if(read.records, [&](const json& r) { return text_at(r, "run") != last; });
  if (left > 0)
    read.warnings.push_back(
        fmt::format("{} holds several runs; the last one is read, {}.", file.string(), last));
}

RunRecords records_of(const std::string& what, const fs::path& file, const std::string& text) {
  Records read = records_in(text, file);
  keep_last_run(read, file);
  if (read.records.empty())
    throw InputError(fmt::format("{}: {} holds no record.", what, file.string()));
  return {latest(read.records), std::move(read.warnings)};
}

// Rounds of two builds are two cells, whatever their name.
void check_alike(const Sampled& cell, const std::string& where, const std::string& id) {
  const Exact &first = cell.exact.front(), &last = cell.exact.back();
  std::string other = other_fact(first.settings, last.settings);
  if (other.empty()) other = other_fact(first.circumstances, last.circumstances);
  if (!other.empty())
    throw InputError(fmt::format(
        "{} mixes builds or settings in the rounds of {} ({}); compare runs of one of them.", where,
        id, other));
}

Side side_of(const RunRecords& run, const std::string& what, const std::string& path) {
  Side side;
  side.path = path;
  side.warnings = run.warnings;
  side.machine = machine_of(run.records.front());
  if (const json& commit = run.records.front().at("commit"); commit.is_string())
    side.commit = commit.get<std::string>().substr(0, 10);
  for (const json& r : run.records) {
    if (const std::string other = other_fact(side.machine, machine_of(r)); !other.empty())
      throw InputError(
          fmt::format("{}: {} holds records of several machines ({}); compare those of one.", what,
                      path, other));
    Sampled& cell = side.cells[id_at(r)];
    if (text_at(r, "status") == "ok" && r.at("time").is_object()) {
      cell.step_ns.push_back(r["time"].at("median").at("step_ns").get<double>());
      cell.exact.push_back(exact_of(r));
      check_alike(cell, fmt::format("{}: {}", what, path), id_at(r));
      if (cell.step_ns.back() > 0) continue;
      throw InputError(fmt::format("{}: {} has a step of no time in {}.", what, path, id_at(r)));
    }
    ++cell.failed;
    cell.reason = text_at(r, "reason");
  }
  return side;
}

// Records are a JSON object a line.
bool starts_with_a_record(const std::string& text) {
  const json first = json::parse(text.substr(0, text.find('\n')), nullptr, false);
  return first.is_object() && !first.empty();
}

}  // namespace

const std::vector<std::string>& machine_keys() {
  static const std::vector<std::string> keys = {"cpu",          "architecture", "threads_per_core",
                                                "cores_online", "cores_usable", "core_quota"};
  return keys;
}

json value_of(const Facts& facts, const std::string& key) {
  const auto it = facts.find(key);
  return it == facts.end() ? json() : it->second;
}

std::string other_fact(const Facts& base, const Facts& head) {
  const auto words = [](const json& v) {
    return v.is_null() ? "unknown" : v.is_string() ? v.get<std::string>() : v.dump();
  };
  Facts all = base;
  all.insert(head.begin(), head.end());
  for (const auto& [key, ignored] : all) {
    const json a = value_of(base, key), b = value_of(head, key);
    if (a == b) continue;
    if (a.is_structured() || b.is_structured()) return key + " differs";
    return fmt::format("{}: {}, then {}", key, words(a), words(b));
  }
  return "";
}

RunRecords run_records(const std::string& what, const fs::path& folder_or_file) {
  const fs::path file = file_of(what, folder_or_file);
  return records_of(what, file, read_whole_file(what, file));
}

Side read_side(const std::string& what, const fs::path& path) {
  const fs::path file = file_of(what, path);
  const std::string text = read_whole_file(what, file);
  const json whole = json::parse(text, nullptr, false);
  Side side;
  if (is_google_benchmark(whole)) {
    side = side_of_google_benchmark(whole, path.string());
  } else if (starts_with_a_record(text)) {
    try {
      side = side_of(records_of(what, file, text), what, path.string());
    } catch (const json::exception& e) {
      throw InputError(
          fmt::format("{}: {} holds a record that is not as results/schema.json says: {}.", what,
                      file.string(), e.what()));
    }
  } else {
    throw InputError(
        fmt::format("{}: {} holds no records and is no Google Benchmark JSON; it must be {}.", what,
                    file.string(), what_it_may_be));
  }
  if (side.cells.empty())
    throw InputError(fmt::format("{}: {} holds no measurement.", what, file.string()));
  return side;
}

}  // namespace shardmark
