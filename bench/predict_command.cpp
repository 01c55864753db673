// What can be typed behind `shardmark predict`, and what does it do? See predict_command.hpp.
#include "bench/predict_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bench/cli_options.hpp"
#include "bench/cluster_file.hpp"
#include "bench/predict_text.hpp"
#include "bench/text.hpp"

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
  shardmark predict --model mixtral/config.json --strategy zero3 --ranks 64 --format json)";

}  // namespace

CLI::App* add_predict(CLI::App& app, PredictArguments& a) {
  CLI::App* command = app.add_subcommand(
      "predict", "What a run would hold and send, without running: any N, any known model");
  command->footer(examples);
  command->allow_extras();
  add_cell_flags(*command, a.cell, left_out());
  command
      ->add_option(
          "--cluster", a.cluster,
          fmt::format("where it would run, so that times are predicted: {}, or a file such "
                      "as `shardmark doctor -o machine.json` writes",
                      join(cluster_presets(), ", ")))
      ->type_name("NAME|FILE")
      ->multi_option_policy(CLI::MultiOptionPolicy::Join);
  command->add_option("--format", a.format, "text or json [text]")
      ->type_name("NAME")
      ->multi_option_policy(CLI::MultiOptionPolicy::Join);
  return command;
}

std::vector<std::string> predict_flag_names() {
  std::vector<std::string> names = cell_flag_names(left_out());
  names.insert(names.end(), {"--cluster", "--format", "--help"});
  return names;
}

int predict_command(const CLI::App& command, const PredictArguments& a) {
  check_options(command, {}, is_list_of_a_cell);
  if (!a.format.empty() && a.format != "text" && a.format != "json")
    throw InputError(fmt::format("--format is \"{}\", but must be text or json{}", a.format,
                                 suggestion(a.format, {"text", "json"})));
  std::optional<Cluster> cluster;
  if (!a.cluster.empty()) cluster = cluster_of("--cluster", a.cluster);
  std::vector<std::string> notes;
  const std::vector<Prediction> all =
      predict(predicted_cells_of(given_of(command, a.cell), &notes), cluster);
  for (const std::string& note : notes) fmt::print(stderr, "{}\n", note);
  if (a.format == "json") {
    nlohmann::json out = nlohmann::json::array();
    for (const Prediction& p : all) out.push_back(to_json(p));
    fmt::print("{}\n", out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}", predict_text(all, cluster));
  }
  return 0;
}

}  // namespace shardmark
