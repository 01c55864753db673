// What does `shardmark score` do with what is typed? See score_command.hpp.
#include "bench/score_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bench/cli_options.hpp"
#include "bench/cluster_file.hpp"
#include "bench/link_text.hpp"
#include "bench/record.hpp"
#include "bench/report_read.hpp"
#include "bench/score.hpp"
#include "bench/text.hpp"

namespace shardmark {
namespace {

constexpr const char* examples = R"(
Every cell of the runs whose threads have a core each is predicted from the cluster file alone,
and its measured step is held against that. The file is measured with models of other sizes.
Examples:
  shardmark doctor -o results/machine.json
  shardmark run && shardmark score results/latest --cluster results/machine.json)";

CLI::Option* add(CLI::App& command, const char* flag, std::string& value, const char* type,
                 const char* help) {
  return command.add_option(flag, value, help)
      ->type_name(type)
      ->multi_option_policy(CLI::MultiOptionPolicy::Join);
}

}  // namespace

CLI::App* add_score(CLI::App& app, ScoreArguments& a) {
  CLI::App* command =
      app.add_subcommand("score", "How well predict would have foretold what runs measured");
  command->footer(examples);
  command->add_option("RUN", a.runs, "runs of this machine")->type_name("FOLDER|FILE")->required();
  add(*command, "--cluster", a.cluster, "FILE",
      "this machine, as `shardmark doctor -o FILE` writes it [results/machine.json]");
  add(*command, "--link", a.link, "RATE[,LATENCY]",
      "what connects ranks that are processes: 1gbit,20us");
  add(*command, "--format", a.format, "NAME", "text or json [text]");
  return command;
}

std::vector<std::string> score_flag_names() {
  return {"--cluster", "--link", "--format", "--help"};
}

int score_command(const ScoreArguments& a) {
  const bool as_json = is_json(a.format);
  const std::string link = a.link.empty() ? "" : canonical_link("--link", a.link);
  const Cluster cluster =
      cluster_of("--cluster", a.cluster.empty() ? "results/machine.json" : a.cluster);
  const ReportRuns read = read_runs(a.runs);
  for (const std::string& warning : read.warnings) fmt::print(stderr, "shardmark: {}\n", warning);
  Score all;
  for (const ReportRun& run : read.runs)
    if (run.kind == training_kind) all += score(run.records, cluster, link);
  if (all.cells.empty())
    throw InputError("these runs hold no training whose time could be scored.");
  if (as_json)
    fmt::print("{}\n", to_json(all, cluster).dump(1));
  else
    fmt::print("{}", score_text(all, cluster));
  return all.scored() > 0 ? 0 : 1;
}

}  // namespace shardmark
