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

// Key and value are columns; what became of it is wrapped in its own.
std::string section_text(const Section& s, std::size_t key, std::size_t value) {
  if (s.lines.empty()) return "";
  std::string all = std::string(s.title) + "\n";
  const std::size_t before = 2 + key + 2 + value + 2;
  for (const Imported::Line& l : s.lines) {
    const std::string start =
        "  " + pad_right(l.key, key) + "  " + pad_right(l.value, value) + "  ";
    // A key longer than its column has the line for itself.
    const bool long_key = display_width(start) > before;
    all += long_key ? "  " + l.key + "  " + l.value + "\n" : start;
    const std::string text =
        wrapped(std::string(before, ' ') + l.became, columns, std::string(before, ' '));
    all += long_key ? text + "\n" : text.substr(before) + "\n";
  }
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
  facts.read = [](const std::string& file) {
    return read_whole_file("deepspeed_config_file", file);
  };
  return facts;
}

}  // namespace

CLI::App* add_import(CLI::App& app, ImportArguments& a) {
  CLI::App* command = app.add_subcommand(
      "import", "What a DeepSpeed or Accelerate config is here, key by key, and as a command");
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
  Imported imported = import_strategy(read_whole_file("FILE", a.file), a.file, facts_of(a));
  if (!a.model.empty()) imported.given["--model"] = {a.model};
  fmt::print(
      "{}",
      format == "json"
          ? import_json(imported, a.file).dump(1, ' ', false, json::error_handler_t::replace) + "\n"
          : import_text(imported, a.file));
  return 0;
}

std::string import_text(const Imported& i, const std::string& file) {
  const Section sections[] = {{"MAPPED", i.mapped},
                              {"LEFT OPEN", i.left_open},
                              {"UNSUPPORTED", i.unsupported},
                              {"IGNORED", i.ignored}};
  std::size_t key = 0, value = 0;
  for (const Section& s : sections)
    for (const Imported::Line& l : s.lines) {
      key = std::max(key, std::min<std::size_t>(display_width(l.key), 50));
      value = std::max(value, std::min<std::size_t>(display_width(l.value), 20));
    }
  std::string all = fmt::format("{}  ·  {}\n\n", file, i.kind);
  for (const Section& s : sections) all += section_text(s, key, value);
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
