// What does `shardmark report` do with what is typed? See report_command.hpp.
#include "bench/report_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>

#include "bench/cluster_file.hpp"
#include "bench/record.hpp"
#include "bench/report_data.hpp"
#include "bench/report_page.hpp"
#include "bench/run_folder.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"
#include "kernels/error.hpp"

namespace shardmark {

namespace {

constexpr const char* examples = R"(
RUN: a run's folder, its records.jsonl, or a file to which several runs were appended,
of `shardmark run` or of `shardmark collectives`; several stand side by side, in the
order given. The page needs no network and no other file.
Examples:
  shardmark report results/latest
  shardmark report results/runs/OLD results/runs/NEW -o before-and-after.html
  shardmark report results/latest --figure step-time -o step-time.svg
  shardmark report results/latest --figure timeline --cell gpt-nano/zero3/n2 -o step.png
  shardmark report results/baselines/CLASS/gate.jsonl --figure history --metric peak -o x.svg)";

CLI::Option* add(CLI::App& command, const char* flag, std::string& value, const char* type,
                 const std::string& help) {
  return command.add_option(flag, value, help)
      ->type_name(type)
      ->multi_option_policy(CLI::MultiOptionPolicy::Join);
}

// What was typed, for the page: as it can be typed again.
std::string typed(const ReportArguments& a) {
  std::string text = "shardmark report";
  for (const std::string& run : a.runs) text += " " + shell_word(run);
  if (!a.cells.empty()) text += " --cells " + shell_word(a.cells);
  if (!a.machine.empty()) text += " --machine " + shell_word(a.machine);
  return text;
}

FigureOptions figure_of(const ReportArguments& a) {
  const auto& names = figure_names();
  if (std::find(names.begin(), names.end(), a.figure) == names.end())
    throw InputError(fmt::format("--figure is \"{}\", but must be {}{}", a.figure,
                                 join(names, ", "), suggestion(a.figure, names)));
  const std::string extension = std::filesystem::path(a.out).extension();
  if (extension != ".svg" && extension != ".png")
    throw InputError(fmt::format(
        "--figure is written to a file that ends in .svg or .png; --out is \"{}\".", a.out));
  if (!a.cell.empty() && a.figure != "timeline")
    throw InputError(
        "--cell is for --figure timeline; --cells TEXT chooses those of other figures.");
  if (!a.machine.empty()) throw InputError("--machine is for the page, which scores predictions.");
  const auto& metrics = history_metrics();
  if (!a.metric.empty() && a.figure != "history")
    throw InputError("--metric is for --figure history.");
  if (!a.metric.empty() && std::find(metrics.begin(), metrics.end(), a.metric) == metrics.end())
    throw InputError(fmt::format("--metric is \"{}\", but must be {}{}", a.metric,
                                 join(metrics, ", "), suggestion(a.metric, metrics)));
  return {a.figure, extension == ".png", a.dark, a.metric.empty() ? metrics.front() : a.metric};
}

void check_page(const ReportArguments& a) {
  if (a.dark)
    throw InputError("--dark is for --figure; the page follows the reader's own setting.");
  if (!a.cell.empty())
    throw InputError("--cell is for --figure timeline; on the page a click chooses the cell.");
  if (!a.metric.empty())
    throw InputError("--metric is for --figure history; the page lets its reader choose.");
  const std::string extension = std::filesystem::path(a.out).extension();
  if (!a.out.empty() && extension != ".html" && extension != ".htm")
    throw InputError(fmt::format(
        "--out is \"{}\", but a page ends in .html; a .svg or .png is for --figure NAME.", a.out));
}

// A file that nobody named may be missing.
std::optional<Cluster> machine_of(const ReportArguments& a) {
  if (!a.machine.empty()) return cluster_of("--machine", a.machine);
  constexpr const char* usual = "results/machine.json";
  if (!std::filesystem::exists(usual)) return {};
  try {
    return cluster_of("--machine", usual);
  } catch (const InputError& e) {
    fmt::print(stderr,
               "shardmark: no predictions are scored, since {} Measure again: shardmark "
               "doctor -o {}\n",
               e.what(), usual);
    return {};
  }
}

// A timeline is of one cell: which one is never left to chance.
void choose_cell(std::vector<ReportRun>& runs, const std::string& cell) {
  std::vector<nlohmann::json> all;
  for (const ReportRun& run : runs)
    if (run.kind == training_kind) all.insert(all.end(), run.records.begin(), run.records.end());
  const std::vector<std::string> ids = ids_in(all);
  if (cell.empty() && ids.size() > 1)
    throw InputError(fmt::format(
        "--figure timeline draws one cell, and there are {}; name it with --cell:\n  {}",
        ids.size(), join(ids, "\n  ")));
  if (ids.empty()) return;  // the figure says that there is nothing to draw
  const std::string id = named_cell("--cell", cell.empty() ? ids.front() : cell, ids, "these runs");
  for (ReportRun& run : runs)
    std::erase_if(run.records, [&](const auto& r) { return id_at(r) != id; });
  std::erase_if(runs, [](const ReportRun& run) { return run.records.empty(); });
  if (runs.size() > 1)
    throw InputError(fmt::format(
        "--figure timeline draws one cell, and {} is in {} of these runs; give one of them.", id,
        runs.size()));
}

std::string choices_of(const std::vector<std::string>& names) {
  return fmt::format("{} [{}]", join(names, ", "), names.front());
}

}  // namespace

CLI::App* add_report(CLI::App& app, ReportArguments& a) {
  CLI::App* command =
      app.add_subcommand("report", "Draw runs: one page of figures, or one figure as a file");
  command->footer(examples);
  command->allow_extras();
  command->add_option("RUN", a.runs, "runs to show")->type_name("FOLDER|FILE")->required();
  add(*command, "-o,--out", a.out, "FILE", "where to [report.html]");
  add(*command, "--cells", a.cells, "TEXT", "only cells whose id has this in it");
  add(*command, "--figure", a.figure, "NAME",
      "one figure instead of the page, to a .svg or .png: " + join(figure_names(), ", "));
  add(*command, "--cell", a.cell, "ID",
      "the cell of --figure timeline: its id, or a beginning that no other cell has");
  add(*command, "--metric", a.metric, "NAME",
      "what --figure history draws: " + choices_of(history_metrics()));
  add(*command, "--machine", a.machine, "FILE",
      "a cluster file of the machine that ran, so that predictions are scored; `shardmark doctor "
      "-o FILE` writes one [results/machine.json, where it is]");
  command->add_flag("--dark", a.dark, "the figure for a dark page");
  return command;
}

std::vector<std::string> report_flag_names() {
  return {"--out",    "-o",        "--cells", "--figure", "--cell",
          "--metric", "--machine", "--dark",  "--help"};
}

int report_command(const ReportArguments& a) {
  FigureOptions figure;
  if (a.figure.empty())
    check_page(a);
  else
    figure = figure_of(a);
  ReportRuns read = read_runs(a.runs, a.cells);
  for (const std::string& warning : read.warnings) fmt::print(stderr, "shardmark: {}\n", warning);
  ReportOptions options{typed(a), utc("%Y-%m-%dT%H:%M:%SZ")};
  if (a.figure.empty()) options.machine = machine_of(a);
  if (a.figure == "timeline") {
    choose_cell(read.runs, a.cell);
    options.timeline_bytes = std::numeric_limits<std::size_t>::max();  // of one cell: any
  }
  const nlohmann::json data = report_data(read.runs, options);
  const std::string text = a.figure.empty() ? report_page(data) : report_figure(data, figure);
  const std::filesystem::path file = a.out.empty() ? "report.html" : a.out;
  write_whole_file("--out", file, text);
  fmt::print("{}: {}, {}\n", file.string(), with_unit(static_cast<double>(text.size()), "B"),
             a.figure.empty() ? "for a browser; it needs no network" : "figure " + a.figure);
  return 0;
}

}  // namespace shardmark
