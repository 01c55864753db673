// Where does a run put its records, and how is it found again? See run_folder.hpp.
#include "bench/run_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>

#include "bench/machine.hpp"
#include "bench/record.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

json plan_of(const Suite& suite) {
  json cells = json::array();
  for (const Cell& c : suite.cells) cells.push_back(to_json(c));
  return {{"suite", suite.name},
          {"rounds", suite.run.rounds},
          {"order_seed", suite.run.order_seed},
          {"cells", cells}};
}

json plan_in(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw InputError(fmt::format("there is no run in {}: no such folder.", folder.string()));
  const fs::path file = folder / "run.json";
  const json plan = json::parse(read_whole_file("run", file), nullptr, false);
  if (!plan.is_object() || !plan.contains("schema_version"))
    throw InputError(fmt::format("{} is not the description of a run.", file.string()));
  if (plan["schema_version"] != schema_version)
    throw InputError(fmt::format(
        "{} is of schema_version {}, and this build reads {}; use the build that wrote it.",
        file.string(), plan["schema_version"].dump(), schema_version));
  if (plan.value("kind", json(training_kind)) != training_kind)
    throw InputError(
        fmt::format("{} holds measurements of {}, which are not gone on with; measure them again.",
                    folder.string(), plan["kind"].dump()));
  return plan;
}

// Creates the folder, and only that. Where no name is given, two runs within one second are two
// runs.
RunFolder new_folder(const std::optional<fs::path>& out, const std::string& base) {
  const fs::path parent = "results/runs";
  RunFolder run{out.value_or(parent / base), base, nullptr};
  std::error_code error;
  fs::create_directories(out ? run.path : parent, error);
  for (int n = 2; !out && !error && !fs::create_directory(run.path, error) && !error; ++n) {
    run.id = fmt::format("{}-{}", base, n);
    run.path = parent / run.id;
  }
  std::error_code ignored;
  const bool there = fs::is_directory(run.path, ignored);
  if (there && ::access(run.path.c_str(), W_OK | X_OK) == 0) return run;
  const std::string why = there ? std::strerror(errno) : error ? error.message() : "no folder";
  throw InputError(fmt::format("{} {} is no folder that can be created and written: {}.",
                               out ? "--out" : "the run's folder", run.path.string(), why));
}

void refuse_a_run(const std::string& flag, const fs::path& folder) {
  std::error_code ignored;
  const fs::path records = folder / "records.jsonl";
  const bool has_records = fs::exists(records, ignored) && fs::file_size(records, ignored) > 0;
  if (has_records || fs::exists(folder / "run.json", ignored))
    throw InputError(fmt::format(
        "{} {} holds {} already; go on with it by --resume {}, or name another folder.", flag,
        folder.string(), has_records ? "the records of a run" : "a run", folder.string()));
}

}  // namespace

std::string utc(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), format, &parts);
  return text.data();
}

std::string new_run_id(std::string suite) {
  for (char& c : suite)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '_';
  return fmt::format("{}-{}-{}", utc("%Y%m%dT%H%M%SZ"), suite, revision().short_commit());
}

RunFolder create_run(const std::optional<fs::path>& out, const Suite& suite) {
  return create_run(out, suite.name, training_kind, plan_of(suite));
}

RunFolder create_run(const std::optional<fs::path>& out, const std::string& name,
                     const std::string& kind, json plan) {
  RunFolder run = new_folder(out, new_run_id(name));
  const std::string flag = out ? "--out" : "the run's folder";
  refuse_a_run(flag, run.path);
  run.writer = std::make_unique<RecordWriter>(run.path, kind);
  refuse_a_run(flag, run.path);  // it may have come and gone before the lock was ours
  // Whole or not at all: a run without its plan could not be gone on with.
  const fs::path fresh = run.path / "run.json.new", file = run.path / "run.json";
  std::ofstream text(fresh);
  plan.update({{"schema_version", schema_version}, {"run", run.id}, {"kind", kind}});
  text << plan.dump(1) << '\n';
  text.close();
  std::error_code error;
  if (text) fs::rename(fresh, file, error);
  if (!text || error) {
    const std::string why = error ? error.message() : std::strerror(errno);
    fs::remove(fresh, error);
    throw InputError(fmt::format("{} {} cannot be written: {}.", flag, run.path.string(), why));
  }
  return run;
}

Suite planned(const fs::path& folder) {
  const json plan = plan_in(folder);
  Suite suite;
  try {
    suite.name = plan.at("suite");
    suite.run.rounds = plan.at("rounds");
    suite.run.order_seed = plan.at("order_seed");
    for (const json& cell : plan.at("cells")) suite.cells.push_back(cell_from_json(cell));
  } catch (const json::exception&) {
    throw InputError(
        fmt::format("{} is not the description of a run.", (folder / "run.json").string()));
  }
  return suite;
}

RunFolder open_run(const fs::path& folder) {
  const std::string id = plan_in(folder).value("run", folder.filename().string());
  return {folder, id, std::make_unique<RecordWriter>(folder)};
}

void link_latest(const fs::path& folder) {
  const fs::path link = latest_run;
  std::error_code error;
  if (fs::exists(fs::symlink_status(link, error)) && !fs::is_symlink(link, error)) return;
  const fs::path fresh = fmt::format("{}.{}", link.string(), ::getpid());
  fs::create_symlink(fs::path("runs") / folder.filename(), fresh, error);
  if (!error) fs::rename(fresh, link, error);
  if (error) fs::remove(fresh, error);
}

}  // namespace shardmark
