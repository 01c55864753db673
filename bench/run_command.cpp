// What does `shardmark run` do with its flags? See run_command.hpp.
#include "bench/run_command.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/checks.hpp"
#include "bench/explain.hpp"
#include "bench/isolated.hpp"
#include "bench/machine.hpp"
#include "bench/profiles.hpp"
#include "bench/record.hpp"
#include "bench/run_folder.hpp"
#include "bench/runner.hpp"
#include "bench/strategy_config.hpp"
#include "bench/table.hpp"
#include "bench/text.hpp"
#include "bench/traces.hpp"
#include "bench/watched.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::vector<json> records_of(const fs::path& folder) {
  const Records read = read_records(folder);
  for (const std::string& warning : read.warnings) fmt::print(stderr, "shardmark: {}\n", warning);
  return latest(read.records);
}

std::string explained(const std::vector<json>& records, const std::string& cell,
                      const std::string& where) {
  return explain(*representative(records, named_cell("--explain", cell, ids_in(records), where)));
}

// Without cells to run, --explain reads a run that is there.
int explain_existing(const RunArguments& a) {
  const fs::path folder = a.out.empty() ? latest_run : a.out;
  const auto records = records_of(folder);
  if (records.empty())
    throw InputError(fmt::format(
        "--explain {}: there is no run in {} yet; run its cells first, or name the run's "
        "folder with --out.",
        a.explain, folder.string()));
  fmt::print("{}", explained(records, a.explain, folder.string()));
  return 0;
}

std::vector<Cell> typed_cells(const RunArguments& a, std::vector<std::string>* notes) {
  std::vector<Cell> cells;
  for (const Given& line : with_strategy_config(a.strategy_config, a.given, {}, notes)) {
    std::vector<Cell> more = cells_of(line, mpi::launched(), notes);
    std::move(more.begin(), more.end(), std::back_inserter(cells));
  }
  return cells;
}

Suite suite_of(const RunArguments& a) {
  Suite suite;
  if (!a.suite.empty() && !a.strategy_config.empty())
    throw InputError(
        "--suite and --strategy-config are both given; each says the cells' strategies, give one "
        "of them.");
  if (!a.suite.empty()) {
    suite = load_suite(a.suite, a.given);
  } else if (!a.given.empty() || !a.strategy_config.empty()) {
    suite.name = "flags";
    suite.cells = typed_cells(a, &suite.notes);
    remove_duplicates(suite);
    validate(suite.cells);
  } else if (!a.resume.empty()) {
    suite = planned(a.resume);
    validate(suite.cells);
  } else {
    suite = load_suite("default", {});
  }
  if (!a.rounds.empty()) suite.run.rounds = whole_number("--rounds", a.rounds, 1, 10'000);
  if (!a.order_seed.empty())
    suite.run.order_seed =
        static_cast<std::uint64_t>(whole_number("--order-seed", a.order_seed, 0, INT64_MAX));
  watch_all(suite, a.trace, a.profile, a.rounds);
  return suite;
}

RunFolder folder_of(const RunArguments& a, const Suite& suite) {
  if (a.resume.empty())
    return create_run(a.out.empty() ? std::nullopt : std::optional<fs::path>(a.out), suite);
  records_of(a.resume);  // a torn line is said here: the writer cuts it off
  return open_run(a.resume);
}

// A run goes on as it was planned: other cells or another order would mix two experiments.
void check_resume(const RunArguments& a) {
  if (a.resume.empty()) return;
  if (!a.out.empty())
    throw InputError(
        "--out and --resume are both given; a run that goes on stays in its folder, give one of "
        "them.");
  std::vector<std::string> others;
  for (const auto& [flag, values] : a.given) others.push_back(flag);
  if (!a.suite.empty()) others.emplace_back("--suite");
  if (!a.strategy_config.empty()) others.emplace_back("--strategy-config");
  if (a.trace) others.emplace_back("--trace");
  if (!a.profile.empty()) others.emplace_back("--profile");
  if (!a.order_seed.empty()) others.emplace_back("--order-seed");
  if (!others.empty())
    throw InputError(
        fmt::format("--resume goes on with the cells of its run, and {} would change them; only "
                    "--rounds and --explain may stand beside it.",
                    join(others, ", ")));
}

// The table, what contradicts what, and the block of a single cell. Returns the exit code.
int show(const RunArguments& a, const Suite& suite, const fs::path& folder) {
  const auto records = records_of(folder);
  fmt::print("{}", table(records, 100));
  const auto crossed = cross_checks(records);
  for (const Finding& f : crossed) fmt::print("{}: {}.\n", f.check, f.sentence);
  if (crossed.empty()) fmt::print("{}", agreement_text(records));
  if (!a.explain.empty() || suite.cells.size() == 1)
    fmt::print("\n{}", explained(records, a.explain.empty() ? id_of(suite.cells[0]) : a.explain,
                                 folder.string()));
  fmt::print("\nRecords: {}\n{}", (folder / "records.jsonl").string(),
             traces_text(records, folder));
  fmt::print(stderr, "{}", unprofiled_text(records));
  bool failed = !crossed.empty() || !failed_checks(records).empty();
  for (const json& r : records)
    failed = failed || text_at(r, "status") != "ok" || lost_its_trace(r);
  return failed ? 1 : 0;
}

}  // namespace

int run_command(const RunArguments& a, GivenWorld* world) {
  check_resume(a);
  if (!a.explain.empty() && a.suite.empty() && a.given.empty() && a.strategy_config.empty() &&
      a.rounds.empty() && a.resume.empty() && !a.trace && a.profile.empty())
    return explain_existing(a);
  const Suite suite = suite_of(a);
  if (!a.explain.empty()) {
    std::vector<std::string> ids;
    for (const Cell& c : suite.cells) ids.push_back(id_of(c));
    named_cell("--explain", a.explain, ids, "this run");
  }
  // Whether the ranks can be started is known before anything is written.
  if (world) world->check(suite.cells);
  std::optional<IsolatedCells> isolated;
  if (!world && !isolated.emplace(suite.cells).ready()) {
    fmt::print(stderr, "shardmark: interrupted before a cell had run; nothing is written\n");
    return 128 + isolated->interrupted_by();
  }
  RunFolder run = folder_of(a, suite);
  for (const std::string& note : suite.notes) fmt::print(stderr, "shardmark: {}\n", note);
  if (a.out.empty() && a.resume.empty()) link_latest(run.path);
  const RunOutcome outcome =
      execute(suite, run, world ? static_cast<CellRunner&>(*world) : *isolated);
  if (outcome.interrupted_by == 0) return show(a, suite, run.path);
  const std::size_t kept = records_of(run.path).size();
  fmt::print(
      stderr,
      "shardmark: interrupted; {} record{} kept in {}; go on with: shardmark run --resume {}\n",
      kept, kept == 1 ? " is" : "s are", run.path.string(), run.path.string());
  return 128 + outcome.interrupted_by;
}

}  // namespace shardmark
