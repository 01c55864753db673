// What can be typed behind `shardmark advise`, and what does it do? See advise_command.hpp.
#include "bench/advise_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/advise.hpp"
#include "bench/cli_options.hpp"
#include "bench/cluster_file.hpp"
#include "bench/link_text.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

constexpr const char* assumed = "a100";  // whose compute and latencies are taken

// What has another name here, is searched for, or changes neither bytes nor time.
const std::vector<std::string>& left_out() {
  static const std::vector<std::string> flags = {
      "--strategy",     "--ranks",   "--link",     "--data",   "--seed",        "--lr",
      "--comm",         "--device",  "--launcher", "--steps",  "--warmup",      "--interface",
      "--memory-limit", "--network", "--timeout",  "--inject", "--comm-timeout"};
  return flags;
}

constexpr const char* examples = R"(
Tries every strategy, with recompute and in smaller micro-batches where it does not fit otherwise,
and says what would have to change before the answer does. Nothing runs.
Examples:
  shardmark advise --model smollm-135m --gpus 8 --memory 1GB --bandwidth 10gbit --precision bf16
  shardmark advise --model llama-3-70b/config.json --gpus 64 --cluster a100 --precision bf16 \
      --batch 4 --sequence 4096 --reserve 1GB)";

CLI::Option* add(CLI::App& command, const char* flag, std::string& value, const char* type,
                 const std::string& help) {
  return command.add_option(flag, value, help)
      ->type_name(type)
      ->multi_option_policy(CLI::MultiOptionPolicy::Join);
}

Cell cell_of(const CLI::App& command, const AdviseArguments& a) {
  if (a.gpus.empty())
    throw InputError("--gpus is missing; say how many there are, such as --gpus 64.");
  Given given = given_of(command, a.cell);
  given["--ranks"] = {fmt::to_string(whole_number("--gpus", a.gpus, 1, most_predicted_ranks))};
  given["--strategy"] = {"ddp"};
  const std::vector<Cell> cells = predicted_cells_of(given);
  if (cells.size() != 1)
    throw InputError(
        fmt::format("advise answers one question, but the lists of values here are {}; give each "
                    "flag one value.",
                    cells.size()));
  return cells.front();
}

Cluster cluster_asked(const AdviseArguments& a, std::int64_t ranks) {
  if (a.cluster.empty() && (a.memory.empty() || a.bandwidth.empty()))
    throw InputError(fmt::format("{} is missing; give --memory and --bandwidth, or a --cluster.",
                                 a.memory.empty() ? "--memory" : "--bandwidth"));
  Cluster c = cluster_of("--cluster", a.cluster.empty() ? assumed : a.cluster);
  if (a.cluster.empty()) c.gpus_per_node = 1;
  if (!a.memory.empty()) c.memory_bytes = static_cast<double>(byte_count("--memory", a.memory));
  if (!a.bandwidth.empty()) c = with_link_rate(c, ranks, bandwidth_of("--bandwidth", a.bandwidth));
  return c;
}

double reserve_of(const std::string& text, double memory) {
  if (text.empty() || text == "0") return 0;
  const auto bytes = static_cast<double>(byte_count("--reserve", text, 0));
  if (bytes >= memory)
    throw InputError(
        fmt::format("--reserve is \"{}\", which leaves nothing of the {} of a GPU; give less.",
                    text, bytes_text(static_cast<std::uint64_t>(memory))));
  return bytes;
}

Question question_of(const CLI::App& command, const AdviseArguments& a) {
  Question q;
  q.cell = cell_of(command, a);
  q.cluster = cluster_asked(a, q.cell.ranks);
  q.cluster_given = !a.cluster.empty(), q.bandwidth_given = !a.bandwidth.empty();
  q.reserve = reserve_of(a.reserve, q.cluster.memory_bytes);
  q.recompute_given = command.count("--recompute") > 0;
  q.prefetch_given = command.count("--prefetch") > 0;
  Prediction start = predict({q.cell}).front();
  if (command.count("--bucket-mb") == 0)
    start.cell.bucket_bytes = q.cell.bucket_bytes = advised_bucket_bytes(start);
  check_calls(start);
  return q;
}

// "50GB/s" in bytes a ns. Throws InputError, which may speak of sizes.
double rate_of(const std::string& flag, const std::string& text) {
  std::string size = trimmed(text);
  const bool per_second = size.ends_with("/s");
  if (per_second) size.resize(size.size() - 2);
  std::string small = size;
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (small.ends_with("bit") && small.find(',') == small.npos)
    return link_of(flag, size)->bytes_per_ns;
  if (!per_second || !size.ends_with('B')) throw InputError("no rate");
  return static_cast<double>(byte_count(flag, size)) * 1e-9;
}

}  // namespace

double bandwidth_of(const std::string& flag, const std::string& text) {
  constexpr double least = 125e-9, most = 1250;  // bytes a ns
  try {
    if (const double rate = rate_of(flag, text); rate >= least && rate <= most) return rate;
  } catch (const InputError&) {
  }
  throw InputError(
      fmt::format("{} is \"{}\", but must be a rate from 1kbit (125B/s) to 10tbit (1250GB/s), such "
                  "as 50GB/s (1e9 bytes each) or 400gbit.",
                  flag, text));
}

CLI::App* add_advise(CLI::App& app, AdviseArguments& a) {
  CLI::App* command = app.add_subcommand(
      "advise", "Which strategy fits and is the fastest, and what would change that");
  command->footer(examples);
  add(*command, "--gpus", a.gpus, "N", "how many there are, 1 to 100,000; required");
  add(*command, "--memory", a.memory, "SIZE", "of one GPU: 80GB; without it the --cluster's");
  add(*command, "--bandwidth", a.bandwidth, "RATE",
      "of the link of one GPU, one way: 50GB/s or 400gbit; with a --cluster between its nodes "
      "where --gpus are more than one node, else inside a node; without it the --cluster's");
  add(*command, "--reserve", a.reserve, "SIZE",
      "of the memory, for what frameworks hold beside the training [0]");
  add(*command, "--cluster", a.cluster, "NAME|FILE",
      fmt::format("where it would run: {}, or a file such as `shardmark doctor -o machine.json` "
                  "writes; without it compute and latency of {}, and no node has two GPUs",
                  join(cluster_presets(), ", "), assumed));
  add(*command, "--format", a.format, "NAME", "text or json [text]");
  add_cell_flags(*command, a.cell, left_out());
  command->get_option("--bucket-mb")
      ->description(
          "gradient bytes (1e6) of one collective; 0: a layer's [4, doubled until at most 400, "
          "or 5000 in all micro-steps, hold all gradients]");
  return command;
}

std::vector<std::string> advise_flag_names() {
  std::vector<std::string> names = cell_flag_names(left_out());
  names.insert(names.end(), {"--gpus", "--memory", "--bandwidth", "--reserve", "--cluster",
                             "--format", "--help"});
  return names;
}

int advise_command(const CLI::App& command, const AdviseArguments& a) {
  check_options(command, {}, is_list_of_a_cell);
  const bool as_json = is_json(a.format);
  const Advice advice = advise(question_of(command, a));
  if (as_json)
    fmt::print("{}\n",
               to_json(advice).dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    fmt::print("{}", advice_text(advice));
  return 0;
}

}  // namespace shardmark
