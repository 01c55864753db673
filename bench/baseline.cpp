// Which runs are kept for good? See baseline.hpp.
#include "bench/baseline.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <fstream>

#include "bench/compare_side.hpp"
#include "bench/record.hpp"
#include "bench/text.hpp"
#include "kernels/error.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* examples = R"(
Examples:
  shardmark run --suite gate && shardmark baseline results/latest
  shardmark compare results/baselines/<class>/gate.jsonl results/latest
The run is appended to results/baselines/<machine class>/<suite>.jsonl, without the
pictures of its steps. It must be whole, and built from a commit without changes.)";

// What a processor's name holds beside its name.
constexpr const char* noise[] = {"(r)", "(tm)", "processor", "cpu"};

std::string slug(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  text = text.substr(0, text.find('@'));
  for (const std::string word : noise)
    for (std::size_t at; (at = text.find(word)) != text.npos;) text.erase(at, word.size());
  std::string out;
  for (const char c : text) {
    const bool kept =
        std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '+' || c == '_';
    if (kept) out += c;
    if (!kept && !out.empty() && out.back() != '-') out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "unknown" : out;
}

std::string text_or(const json& in, const char* key, const char* otherwise) {
  const auto it = in.find(key);
  return it != in.end() && it->is_string() ? it->get<std::string>() : otherwise;
}

// What all records of a run must have in common.
std::string common(const std::string& run, const std::vector<json>& records, const char* key) {
  for (const json& r : records)
    if (r.at(key) != records.front().at(key))
      throw InputError(
          fmt::format("{} has records of more than one {}; a baseline is of one.", run, key));
  if (records.front().at(key).is_null())
    throw InputError(fmt::format(
        "{} names no {}: {}.", run, key,
        text_or(records.front(), (std::string(key) + "_reason").c_str(), "nobody knows why")));
  return text_at(records.front(), key);
}

void check_records(const std::string& run, const std::vector<json>& records) {
  for (const json& r : records) {
    if (text_at(r, "status") != "ok")
      throw InputError(fmt::format("{}: {} did not end: {}; a baseline has every cell.", run,
                                   id_at(r), text_at(r, "reason")));
    if (r.at("dirty") != json(false))
      throw InputError(fmt::format(
          "{} was built from a tree with changes that are in no commit; commit, build and run "
          "again.",
          run));
    if (machine_class(r.at("machine")) != machine_class(records.front().at("machine")))
      throw InputError(fmt::format("{} comes from machines of two classes.", run));
  }
}

// Folders and files are named by it.
void check_suite(const std::string& run, const std::string& suite) {
  if (suite == "flags" || suite.empty() || suite.find('/') != suite.npos)
    throw InputError(fmt::format(
        "{} is of no suite, but a baseline is repeated by one; run it with --suite.", run));
}

std::string text_of(std::vector<json> records) {
  std::string text;
  for (json& r : records) {
    r["timeline"] = nullptr;
    r["timeline_reason"] = "a baseline keeps samples, and no pictures of steps";
    text += r.dump() + "\n";
  }
  return text;
}

// Whole or not at all.
void replace(const fs::path& file, const std::string& text) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const fs::path fresh = file.string() + ".new";
  std::ofstream out(fresh);
  out << text;
  out.close();
  if (out) fs::rename(fresh, file, error);
  if (out && !error) return;
  fs::remove(fresh, error);
  throw InputError(fmt::format("the baseline {} cannot be written.", file.string()));
}

}  // namespace

std::string machine_class(const json& machine) {
  const json libraries = machine.value("libraries", json::object()),
             build = machine.value("build", json::object());
  const auto cores = machine.find("cores_usable");
  return fmt::format("{}-{}-{}-{}c-{}-{}", slug(text_or(machine, "architecture", "")),
                     slug(text_or(machine, "instruction_set", "")),
                     slug(text_or(machine, "cpu", "")),
                     cores != machine.end() ? cores->dump() : "0",
                     slug(text_or(libraries, "matrix", "")), slug(text_or(build, "compiler", "")));
}

CLI::App* add_baseline(CLI::App& app, BaselineArguments& a) {
  CLI::App* command =
      app.add_subcommand("baseline", "Keep a run: as history, and to compare with from now on");
  command->footer(examples);
  command->allow_extras();
  command->add_option("RUN", a.run, "a run's folder, or its records.jsonl")
      ->type_name("FOLDER|FILE")
      ->required();
  command->add_option("--to", a.to, "where baselines are [results/baselines]")
      ->type_name("DIR")
      ->multi_option_policy(CLI::MultiOptionPolicy::Join);
  command->add_flag("--again", a.again, "though there is a run of the same commit already");
  return command;
}

std::vector<std::string> baseline_flag_names() { return {"--to", "--again", "--help"}; }

int baseline_command(const BaselineArguments& a) {
  const std::vector<json> records = run_records("RUN", a.run).records;
  try {
    const std::string suite = common(a.run, records, "suite"),
                      commit = common(a.run, records, "commit");
    check_suite(a.run, suite);
    check_records(a.run, records);
    const fs::path file = fs::path(a.to.empty() ? baselines_folder : a.to) /
                          machine_class(records.front().at("machine")) / (suite + ".jsonl");
    std::string before;
    std::error_code ignored;
    if (fs::exists(file, ignored)) before = read_whole_file("--to", file);
    const Records known = records_in(before, file);
    if (!known.warnings.empty()) throw InputError(known.warnings.front());
    for (const json& r : known.records)
      if (!a.again && r.at("commit") == json(commit))
        throw InputError(fmt::format("{} has a run of commit {} already; --again adds another one.",
                                     file.string(), commit.substr(0, 10)));
    replace(file, before + text_of(records));
    fmt::print("{} records of commit {} added to {}\n", records.size(), commit.substr(0, 10),
               file.string());
  } catch (const json::exception& e) {
    throw InputError(fmt::format(
        "RUN: {} holds a record that is not as results/schema.json says: {}.", a.run, e.what()));
  }
  return 0;
}

}  // namespace shardmark
