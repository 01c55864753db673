// Which flags of a cell can be typed behind a command? See cell_cli.hpp.
#include "bench/cell_cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace shardmark {

namespace {

// Where the default of a flag is the same for everybody, --help shows it.
std::string help_of(const CellFlag& flag) {
  static const std::map<std::string, std::string> defaults = {
      {"--model", Cell().model},
      {"--ranks", fmt::to_string(Cell().ranks)},
      {"--threads-per-rank", fmt::to_string(Cell().threads_per_rank)},
      {"--batch", fmt::to_string(Cell().batch)},
      {"--accumulate", fmt::to_string(Cell().accumulate)},
      {"--sequence", fmt::to_string(Cell().sequence)},
      {"--steps", fmt::to_string(Cell().steps)},
      {"--warmup", fmt::to_string(Cell().warmup)},
      {"--clip", fmt::to_string(Cell().clip)},
      {"--lr", fmt::to_string(Cell().lr)},
      {"--seed", fmt::to_string(Cell().seed)},
      {"--data", "a text of our own"},
      {"--bucket-mb", fmt::to_string(static_cast<double>(Cell().bucket_bytes) * 1e-6)},
      {"--buckets", fmt::to_string(Cell().buckets)},
      {"--overlap", Cell().overlap ? "on" : "off"},
      {"--comm", Cell().comm + ", under a launcher mpi"},
      {"--link", Cell().link},
      {"--prefetch", fmt::to_string(Cell().prefetch)},
      {"--keep-last", Cell().keep_last ? "on" : "off"},
      {"--persist-below", fmt::to_string(Cell().persist_below)},
      {"--precision", Cell().precision},
      {"--recompute", Cell().recompute},
      {"--all-reduce", Cell().all_reduce},
      {"--memory-limit", "none"},
      {"--timeout", fmt::to_string(Cell().timeout_s)},
      {"--comm-timeout", fmt::to_string(Cell().comm_timeout_s)}};
  const auto it = defaults.find(flag.name);
  return it == defaults.end() ? flag.help : fmt::format("{} [{}]", flag.help, it->second);
}

bool is_in(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void add_cell_flags(CLI::App& command, TypedCell& typed, const std::vector<std::string>& without) {
  const char* cells = "What a cell is";
  for (const CellFlag& flag : cell_flags()) {
    if (is_in(without, flag.name)) continue;
    if (std::string_view(flag.name) == "--data") {
      command.add_option(flag.name, typed.data, help_of(flag))->type_name(flag.value)->group(cells);
      continue;
    }
    // Join: so that a flag that stands twice comes through, and is refused with a sentence of ours.
    command.add_option(flag.name, typed.values[flag.name], help_of(flag))
        ->type_name(flag.value)
        ->group(*flag.help ? cells : "")
        ->multi_option_policy(CLI::MultiOptionPolicy::Join);
  }
}

Given given_of(const CLI::App& command, const TypedCell& typed) {
  Given given;
  for (const auto& [flag, value] : typed.values)
    if (command.count(flag) > 0) given[flag] = {value};
  if (!typed.data.empty()) given["--data"] = typed.data;
  return given;
}

bool is_list_of_a_cell(const std::string& flag) {
  const auto& all = cell_flags();
  return std::any_of(all.begin(), all.end(), [&](const CellFlag& f) {
    return f.name == flag && f.list != CellFlag::List::none;
  });
}

std::vector<std::string> cell_flag_names(const std::vector<std::string>& without) {
  std::vector<std::string> names;
  for (const CellFlag& flag : cell_flags())
    if (*flag.help && !is_in(without, flag.name)) names.emplace_back(flag.name);
  return names;
}

}  // namespace shardmark
