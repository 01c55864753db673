// Which runs does a report show? See report_read.hpp.
#include "bench/report_read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "bench/record.hpp"
#include "bench/text.hpp"
#include "kernels/error.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

fs::path file_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  if (!fs::exists(path / "records.jsonl", ignored))
    throw InputError(fmt::format(
        "RUN: the folder {} holds no records.jsonl; it must be a run's folder or a file of "
        "records.",
        path.string()));
  return path / "records.jsonl";
}

// By its first line: a file is of one kind, since a run is.
std::string kind_of(const std::string& text) {
  const json first = json::parse(text.substr(0, text.find('\n')), nullptr, false);
  const bool collectives = first.is_object() && first.value("kind", json()) == collectives_kind;
  return collectives ? collectives_kind : training_kind;
}

std::vector<ReportRun> split_runs(const std::string& path, const std::string& kind,
                                  const std::vector<json>& records) {
  std::vector<ReportRun> runs;
  for (const json& record : records) {
    const std::string& id = text_at(record, "run");
    auto run = std::find_if(runs.begin(), runs.end(), [&](const auto& r) { return r.id == id; });
    if (run == runs.end()) run = runs.insert(runs.end(), ReportRun{path, id, kind, {}});
    run->records.push_back(record);
  }
  for (ReportRun& run : runs) run.records = latest(run.records);
  return runs;
}

}  // namespace

void refuse_record(const std::string& path, const json::exception& e) {
  throw InputError(fmt::format(
      "RUN: {} holds a record that is not as results/schema.json says: {}.", path, e.what()));
}

ReportRuns read_runs(const std::vector<std::string>& paths, const std::string& only) {
  ReportRuns out;
  for (const std::string& path : paths) {
    const fs::path file = file_of(path);
    const std::string text = read_whole_file("RUN", file);
    const std::string kind = kind_of(text);
    Records read = records_in(text, file, kind);
    if (read.records.empty())
      throw InputError(fmt::format("RUN: {} holds no record{}", file.string(),
                                   read.warnings.empty() ? "." : ": " + read.warnings.front()));
    out.warnings.insert(out.warnings.end(), read.warnings.begin(), read.warnings.end());
    if (!only.empty())
      std::erase_if(read.records,
                    [&](const json& r) { return id_at(r).find(only) == std::string::npos; });
    try {
      for (ReportRun& run : split_runs(path, kind, read.records))
        out.runs.push_back(std::move(run));
    } catch (const json::exception& e) {
      refuse_record(path, e);
    }
  }
  if (out.runs.empty())
    throw InputError(fmt::format("--cells is \"{}\", but no cell's id has that in it.", only));
  return out;
}

}  // namespace shardmark
