#include "bench/import_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
using Lines = std::vector<Imported::Line>;

constexpr std::size_t columns = 100;

constexpr const char* import_examples = R"(
FILE: a ds_config.json of DeepSpeed, or a YAML of Accelerate (DeepSpeed, FSDP1, FSDP2 or
DDP). Every key is listed with what it became; what DeepSpeed or FSDP does and the cell
does not is noted; the last line is the command that runs the cell here.
Examples:
  shardmark import ds_config.json
  shardmark import ds_config.json --model gpt-micro --ranks 4 --precision bf16
  shardmark import fsdp.yaml --model llama/config.json --format json
--model, --ranks and --precision say what "auto" is.)";

struct Section {
  const char* title;
  const Lines& lines;
};

// What became of a key stands in a column of its own; where key and value reach into it, they have
// a line for themselves.
constexpr std::size_t widest_key = 50;

std::string key_text(const Imported::Line& l) { return "  " + l.key + "  " + l.value; }

std::string section_text(const Section& s, std::size_t before) {
  if (s.lines.empty()) return "";
  std::string all = std::string(s.title) + "\n";
  const std::string hang(before, ' ');
  for (const Imported::Line& l : s.lines) {
    const std::string key = key_text(l), became = wrapped(hang + l.became, columns, hang);
    all += display_width(key) + 2 > before ? key + "\n" + became
                                           : pad_right(key, before) + became.substr(before);
    all += "\n";
  }
  return all + "\n";
}

// There are many, and few reasons.
std::string ignored_text(const Lines& lines) {
  if (lines.empty()) return "";
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const Imported::Line& l : lines) {
    auto it = std::find_if(by_reason.begin(), by_reason.end(),
                           [&](const auto& r) { return r.first == l.became; });
    if (it == by_reason.end()) it = by_reason.insert(it, {l.became, {}});
    it->second.push_back(l.key);
  }
  std::string all = "IGNORED\n";
  for (const auto& [reason, keys] : by_reason)
    all += wrapped("  " + reason + ": " + join(keys, ", "), columns, "    ") + "\n";
  return all + "\n";
}

json lines_json(const Lines& lines) {
  json all = json::array();
  for (const Imported::Line& l : lines)
    all.push_back({{"key", l.key}, {"value", l.value}, {"became", l.became}});
  return all;
}

ImportFacts facts_of(const ImportArguments& a) {
  ImportFacts facts;
  if (!a.model.empty()) facts = facts_of_model(a.model);
  if (!a.ranks.empty()) facts.ranks = whole_number("--ranks", a.ranks, 1, 1'000'000);
  if (!a.precision.empty()) {
    if (a.precision != "fp32" && a.precision != "bf16" && a.precision != "fp16")
      throw InputError(fmt::format("--precision is \"{}\", but must be fp32, bf16, fp16{}",
                                   a.precision, suggestion(a.precision, {"fp32", "bf16", "fp16"})));
    facts.precision = a.precision;
  }
  facts.read = [](const std::string& file) { return read_config("deepspeed_config_file", file); };
  return facts;
}

}  // namespace

CLI::App* add_import(CLI::App& app, ImportArguments& a) {
  CLI::App* command = app.add_subcommand(
      "import", "A DeepSpeed or Accelerate config here: key by key, and as a command");
  command->footer(import_examples);
  command->allow_extras();
  command->add_option("FILE", a.file, "the config")->required();
  const auto add = [&](const char* flag, std::string& value, const char* type, const char* help) {
    // Join: so that a flag that stands twice comes through, and is refused with a sentence of ours.
    command->add_option(flag, value, help)
        ->type_name(type)
        ->multi_option_policy(CLI::MultiOptionPolicy::Join);
  };
  add("--model", a.model, "NAME", "what is trained, as shardmark run takes it");
  add("--ranks", a.ranks, "N", "how many ranks, where the file does not say it");
  add("--precision", a.precision, "TYPE", "what \"auto\" is in fp16 and bf16: fp32, bf16 or fp16");
  add("--format", a.format, "NAME", "text or json [text]");
  return command;
}

std::vector<std::string> import_flag_names() {
  return {"--model", "--ranks", "--precision", "--format", "--help"};
}

int import_command(const ImportArguments& a) {
  const std::string format = a.format.empty() ? "text" : a.format;
  if (format != "text" && format != "json")
    throw InputError(fmt::format("--format is \"{}\", but must be text, json{}", format,
                                 suggestion(format, {"text", "json"})));
  Imported imported = import_strategy(read_config("FILE", a.file), a.file, facts_of(a));
  if (!a.model.empty()) imported.given["--model"] = {a.model};
  fmt::print(
      "{}",
      format == "json"
          ? import_json(imported, a.file).dump(1, ' ', false, json::error_handler_t::replace) + "\n"
          : import_text(imported, a.file));
  return 0;
}

std::string import_text(const Imported& i, const std::string& file) {
  const Section sections[] = {
      {"MAPPED", i.mapped}, {"LEFT OPEN", i.left_open}, {"UNSUPPORTED", i.unsupported}};
  std::size_t before = 0;
  for (const Section& s : sections)
    for (const Imported::Line& l : s.lines)
      before = std::max(before, std::min(display_width(key_text(l)) + 2, widest_key));
  std::string all = fmt::format("{}  ·  {}\n\n", file, i.kind);
  for (const Section& s : sections) all += section_text(s, before);
  all += ignored_text(i.ignored);
  if (!i.notes.empty()) {
    all += "NOTES\n";
    for (const std::string& note : i.notes) all += wrapped("  " + note, columns, "    ") + "\n";
    all += "\n";
  }
  return all + run_line(i.given) + "\n";
}

json import_json(const Imported& i, const std::string& file) {
  json flags = json::object();
  for (const auto& [flag, values] : i.given) flags[flag] = join(values, " ");
  return {{"file", file},
          {"kind", i.kind},
          {"flags", flags},
          {"mapped", lines_json(i.mapped)},
          {"left_open", lines_json(i.left_open)},
          {"unsupported", lines_json(i.unsupported)},
          {"ignored", lines_json(i.ignored)},
          {"notes", i.notes},
          {"command", run_line(i.given)}};
}

}  // namespace shardmark
