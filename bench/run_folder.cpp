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

json plan_of(const std::string& id, const Suite& suite) {
  json cells = json::array();
  for (const Cell& c : suite.cells) cells.push_back(to_json(c));
  return {{"schema_version", schema_version},
          {"run", id},
          {"suite", suite.name},
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
  return plan;
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
  const std::string base = new_run_id(suite.name);
  RunFolder run{out.value_or(fs::path("results/runs") / base), base};
  // Two runs within one second are two runs.
  for (int n = 2; !out && fs::exists(run.path); ++n) {
    run.id = fmt::format("{}-{}", base, n);
    run.path = fs::path("results/runs") / run.id;
  }
  std::error_code error;
  fs::create_directories(run.path, error);
  const std::string flag = out ? "--out" : "the run's folder";
  if (!fs::is_directory(run.path, error) || ::access(run.path.c_str(), W_OK | X_OK) != 0)
    throw InputError(fmt::format("{} {} is no folder that can be created and written: {}.", flag,
                                 run.path.string(),
                                 error ? error.message() : std::strerror(errno)));
  if (fs::exists(run.path / "records.jsonl", error))
    throw InputError(fmt::format(
        "{} {} holds the records of a run already; go on with it by --resume {}, or name "
        "another folder.",
        flag, run.path.string(), run.path.string()));
  std::ofstream file(run.path / "run.json");
  file << plan_of(run.id, suite).dump(1) << '\n';
  file.close();
  if (!file)
    throw InputError(
        fmt::format("{} {} cannot be written: {}.", flag, run.path.string(), std::strerror(errno)));
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

std::string run_id(const fs::path& folder) {
  return plan_in(folder).value("run", folder.filename().string());
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
