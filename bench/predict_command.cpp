// What can be typed behind `shardmark predict`, and what does it do? See predict_command.hpp.
#include "bench/predict_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bench/cli_options.hpp"
#include "bench/cluster_file.hpp"
#include "bench/estimator_terms.hpp"
#include "bench/memory_fit.hpp"
#include "bench/predict_text.hpp"
#include "bench/strategy_config.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

// What says how or with what a cell runs, and nothing of its bytes.
const std::vector<std::string>& left_out() {
  static const std::vector<std::string> flags = {
      "--data",    "--seed",    "--lr",           "--comm",   "--launcher",     "--interface",
      "--network", "--timeout", "--comm-timeout", "--inject", "--memory-limit", "--device"};
  return flags;
}

constexpr const char* examples = R"(
Nothing runs: bytes, calls and volume come from the claims that every run is held
against. --model may be any config.json whose family is known, trained here or not.
Examples:
  shardmark predict --model smollm-135m --strategy all --ranks 1,8,64
  shardmark predict --model llama-3-70b/config.json --precision bf16 --batch 1 --sequence 4096 \
      --strategy zero1,zero2,zero3 --ranks 8,64,512 --bucket-mb 500
  shardmark predict --model mixtral/config.json --strategy zero3 --ranks 64 --format json
  shardmark predict --model smollm-135m --strategy-config ds_config.json --ranks 8,64
  shardmark predict --model llama-3-70b/config.json --precision bf16 --ranks 64 --memory 80GB
  shardmark predict --model smollm-135m --precision bf16 --ranks 8,64 --cluster h100
  shardmark predict --strategy zero2,zero3 --precision bf16 --estimator deepspeed,textbook)";

std::vector<Prediction> predictions(const CLI::App& command, const PredictArguments& a,
                                    const std::optional<Cluster>& cluster,
                                    std::vector<std::string>& notes) {
  std::vector<Cell> cells;
  for (const Given& line :
       with_strategy_config(a.strategy_config, given_of(command, a.cell), left_out(), &notes)) {
    const std::vector<Cell> more = predicted_cells_of(line, &notes);
    cells.insert(cells.end(), more.begin(), more.end());
  }
  return predict(cells, cluster);
}

}  // namespace

CLI::App* add_predict(CLI::App& app, PredictArguments& a) {
  CLI::App* command = app.add_subcommand(
      "predict", "What a run would hold, send and take, without running: any N and model");
  command->footer(examples);
  command->allow_extras();
  add_cell_flags(*command, a.cell, left_out());
  command->get_option("--ranks")->description("ranks, 1 to 100000 [2]");
  const auto add = [&](const char* flag, std::string& value, const char* type,
                       const std::string& help) {
    command->add_option(flag, value, help)
        ->type_name(type)
        ->multi_option_policy(CLI::MultiOptionPolicy::Join);
  };
  add("--strategy-config", a.strategy_config, "FILE", strategy_config_help);
  add("--memory", a.memory, "SIZE",
      "of a rank, such as 80GB (1e9 bytes each) or 80GiB: says what fits, and what others lack");
  add("--cluster", a.cluster, "NAME|FILE",
      "where it would run, so that times are predicted: " + join(cluster_presets(), ", ") +
          ", or a file such as `shardmark doctor -o machine.json` writes");
  add("--estimator", a.estimators, "NAME",
      "deepspeed, textbook, exact, or several: their formulas term by term beside the exact "
      "bytes, and why they differ");
  add("--format", a.format, "NAME", "text or json [text]");
  return command;
}

std::vector<std::string> predict_flag_names() {
  std::vector<std::string> names = cell_flag_names(left_out());
  names.insert(names.end(),
               {"--strategy-config", "--memory", "--cluster", "--estimator", "--format", "--help"});
  return names;
}

int predict_command(const CLI::App& command, const PredictArguments& a) {
  check_options(command, {}, [](const std::string& flag) {
    return flag == "--estimator" || is_list_of_a_cell(flag);
  });
  const bool as_json = is_json(a.format);
  const EstimatorsShown estimators = estimators_named(a.estimators);
  std::optional<double> memory;
  if (!a.memory.empty()) memory = static_cast<double>(byte_count("--memory", a.memory));
  std::optional<Cluster> cluster;
  if (!a.cluster.empty()) cluster = cluster_of("--cluster", a.cluster);
  if (cluster && !memory) memory = cluster->memory_bytes;
  std::vector<std::string> notes;
  const std::vector<Prediction> all = predictions(command, a, cluster, notes);
  for (const std::string& note : notes) fmt::print(stderr, "{}\n", wrapped(note, 100, "  "));
  if (as_json) {
    nlohmann::json out = nlohmann::json::array();
    for (const Prediction& p : all) {
      nlohmann::json& one = out.emplace_back(to_json(p));
      if (memory) one["memory"] = memory_json(p, *memory);
      if (estimators.any) one["estimators"] = estimators_json(p, estimators);
    }
    fmt::print("{}\n", out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}", predict_text(all, cluster, memory));
    if (estimators.any) fmt::print("{}", estimators_text(all, estimators));
  }
  return 0;
}

}  // namespace shardmark
