// What do `shardmark compare` and `shardmark export` do with what is typed? See
// compare_command.hpp.
#include "bench/compare_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/compare_text.hpp"
#include "bench/gbench.hpp"
#include "bench/text.hpp"
#include "bench/watched.hpp"
#include "kernels/error.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

constexpr const char* path = "FOLDER|FILE";

constexpr const char* compare_examples = R"(
BASE and HEAD: each a run's folder, its records.jsonl, or a JSON file of Google
Benchmark; both of one kind. Cells are matched by id. What must repeat is compared
exactly: bytes, peaks, calls, volumes, losses, norms and final parameters; times by
the ratio of their rounds, with an interval. A cell of one side only is shown.
Examples:
  shardmark compare results/runs/OLD results/latest
  shardmark compare old.json new.json --threshold 5     two files of Google Benchmark
  shardmark compare OLD NEW --format markdown >>"$GITHUB_STEP_SUMMARY"
Exit codes: 0 no regression; 1 a cell is slower, is missing or has another exact
value, or nothing was compared; 2 the input is wrong.
Rounds of both should run by turns: a machine that drifts between two runs is
slower, too.)";

constexpr const char* export_examples = R"(
Examples:
  shardmark export results/latest --format gbench -o run.json
A benchmark is a cell, a repetition a round, real_time the median step.)";

std::string one_of(const std::string& flag, const std::string& value, const Names& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return value;
  throw InputError(fmt::format("{} is \"{}\", but must be {}{}", flag, value, join(known, ", "),
                               suggestion(value, known)));
}

CLI::Option* add(CLI::App& command, const char* flag, std::string& value, const char* type,
                 const char* help) {
  // Join: so that a flag that stands twice comes through, and is refused with a sentence of ours.
  return command.add_option(flag, value, help)
      ->type_name(type)
      ->multi_option_policy(CLI::MultiOptionPolicy::Join);
}

void warn(const Names& warnings) {
  for (const std::string& warning : warnings) fmt::print(stderr, "shardmark: {}\n", warning);
}

}  // namespace

CLI::App* add_compare(CLI::App& app, CompareArguments& a) {
  CLI::App* command =
      app.add_subcommand("compare", "What became slower, fatter or different between two runs");
  command->footer(compare_examples);
  command->allow_extras();
  command->add_option("BASE", a.base, "what was before")->type_name(path)->required();
  command->add_option("HEAD", a.head, "what is now")->type_name(path)->required();
  add(*command, "--threshold", a.threshold, "PERCENT",
      "times within so much of each other are the same [3]");
  add(*command, "--format", a.format, "NAME", "text, json or markdown [text]");
  command->add_flag("--across-machines", a.across_machines,
                    "compare two machines, by what formulas give alone: bytes, calls, volumes");
  command->add_flag("--exact", a.exact, "compare what must repeat exactly, and no times");
  return command;
}

CLI::App* add_export(CLI::App& app, ExportArguments& a) {
  CLI::App* command =
      app.add_subcommand("export", "Write a run's records in a form that other tools read");
  command->footer(export_examples);
  command->allow_extras();
  command->add_option("RUN", a.run, "a run's folder, or its records.jsonl")
      ->type_name(path)
      ->required();
  add(*command, "--format", a.format, "NAME", "gbench: Google Benchmark's JSON")->required();
  add(*command, "-o,--out", a.out, "FILE", "where to [standard output]");
  return command;
}

Names compare_flag_names() {
  return {"--threshold", "--format", "--across-machines", "--exact", "--help"};
}

Names export_flag_names() { return {"--format", "--out", "-o", "--help"}; }

int compare_command(const CompareArguments& a) {
  CompareOptions options;
  options.across_machines = a.across_machines;
  options.exact_only = a.exact;
  if (!a.threshold.empty())
    options.threshold = real_number("--threshold", a.threshold, 0, 1000) / 100;
  const std::string format =
      one_of("--format", a.format.empty() ? "text" : a.format, {"text", "json", "markdown"});
  const Comparison c = compare(read_side("BASE", a.base), read_side("HEAD", a.head), options);
  warn(c.base.warnings);
  warn(c.head.warnings);
  fmt::print("{}", format == "json"
                       ? compare_json(c).dump(1, ' ', false, json::error_handler_t::replace) + "\n"
                   : format == "markdown" ? compare_markdown(c)
                                          : compare_text(c));
  return c.red() ? 1 : 0;
}

int export_command(const ExportArguments& a) {
  one_of("--format", a.format, {"gbench"});
  std::string text;
  try {
    const RunRecords run = run_records("RUN", a.run);
    warn(run.warnings);
    for (const json& r : run.records)
      if (const std::string watched = watched_text(r.at("cell")); !watched.empty())
        throw InputError(
            fmt::format("RUN: {} is {}, and its times are not measurements; export a run without "
                        "--trace and --profile.",
                        a.run, watched.substr(0, watched.find(':'))));
    text = google_benchmark_of(run.records).dump(1, ' ', false, json::error_handler_t::replace);
  } catch (const json::exception& e) {
    throw InputError(fmt::format(
        "RUN: {} holds a record that is not as results/schema.json says: {}.", a.run, e.what()));
  }
  if (a.out.empty()) {
    fmt::print("{}\n", text);
    return 0;
  }
  write_whole_file("--out", a.out, text + "\n");
  return 0;
}

}  // namespace shardmark
