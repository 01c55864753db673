// What does `shardmark report` do with what is typed? See report_command.hpp.
#include "bench/report_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

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
  shardmark report results/latest --figure timeline --cells zero3/n2/overlap-on -o step.png)";

CLI::Option* add(CLI::App& command, const char* flag, std::string& value, const char* type,
                 const std::string& help) {
  return command.add_option(flag, value, help)
      ->type_name(type)
      ->multi_option_policy(CLI::MultiOptionPolicy::Join);
}

// What was typed, for the page: as it can be typed again.
std::string typed(const ReportArguments& a) {
  std::string text = "shardmark report";
  for (const std::string& run : a.runs) text += " " + run;
  if (!a.cells.empty()) text += " --cells " + a.cells;
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
  return {a.figure, extension == ".png", a.dark};
}

void check_page(const ReportArguments& a) {
  if (a.dark)
    throw InputError("--dark is for --figure; the page follows the reader's own setting.");
  const std::string extension = std::filesystem::path(a.out).extension();
  if (!a.out.empty() && extension != ".html" && extension != ".htm")
    throw InputError(fmt::format(
        "--out is \"{}\", but a page ends in .html; a .svg or .png is for --figure NAME.", a.out));
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
  command->add_flag("--dark", a.dark, "the figure for a dark page");
  return command;
}

std::vector<std::string> report_flag_names() {
  return {"--out", "-o", "--cells", "--figure", "--dark", "--help"};
}

int report_command(const ReportArguments& a) {
  FigureOptions figure;
  if (a.figure.empty())
    check_page(a);
  else
    figure = figure_of(a);
  const ReportRuns read = read_runs(a.runs, a.cells);
  for (const std::string& warning : read.warnings) fmt::print(stderr, "shardmark: {}\n", warning);
  const nlohmann::json data = report_data(read.runs, {typed(a), utc("%Y-%m-%dT%H:%M:%SZ")});
  const std::string text = a.figure.empty() ? report_page(data) : report_figure(data, figure);
  const std::filesystem::path file = a.out.empty() ? "report.html" : a.out;
  write_whole_file("--out", file, text);
  fmt::print("{}: {}, {}\n", file.string(), with_unit(static_cast<double>(text.size()), "B"),
             a.figure.empty() ? "for a browser; it needs no network" : "figure " + a.figure);
  return 0;
}

}  // namespace shardmark
