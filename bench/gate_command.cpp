// What does `shardmark gate` do with what is typed? See gate_command.hpp.
#include "bench/gate_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "bench/gate_replay.hpp"
#include "bench/gate_sides.hpp"
#include "bench/gate_text.hpp"
#include "bench/run_folder.hpp"
#include "bench/text.hpp"
#include "profilers/timeline.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* examples = R"(
ci/gate BASE_REF builds both and calls this. What must repeat exactly is compared first,
over two suites; then the cells of --suite run in pairs, base and head by turns.
Examples:
  shardmark gate --base old/shardmark --head new/shardmark
  shardmark gate --base old/shardmark --head new/shardmark --exact     no times
  shardmark gate --self-test --base build/shardmark      how often is it wrong here?
  shardmark gate --self-test --samples results/runs/<run>/samples.jsonl
Exit codes: 0 nothing became worse; 1 something is slower, differs or is missing, or
nothing was measured; 2 the input is wrong; 3 inconclusive: base differs from itself.)";

constexpr int exit_inconclusive = 3;
constexpr std::size_t usual_pairs = 20, usual_confirm = 30, self_test_pairs = 60;
constexpr std::size_t replays_of_a_cell = 400;

CLI::Option* add(CLI::App& command, const char* flag, std::string& value, const char* type,
                 const char* help) {
  return command.add_option(flag, value, help)
      ->type_name(type)
      ->multi_option_policy(CLI::MultiOptionPolicy::Join);
}

std::size_t count_of(const std::string& flag, const std::string& text, std::size_t usual) {
  return text.empty() ? usual : static_cast<std::size_t>(whole_number(flag, text, 1, 100'000));
}

std::uint64_t seed_of(const GateArguments& a) {
  if (a.seed.empty()) return std::random_device()() >> 1;
  return static_cast<std::uint64_t>(whole_number("--seed", a.seed, 0, INT64_MAX));
}

fs::path program_of(const std::string& flag, const std::string& given) {
  if (given.empty())
    throw InputError(fmt::format("{} is not given; it is a built shardmark program.", flag));
  const fs::path program = fs::absolute(given);
  std::error_code ignored;
  if (!fs::is_regular_file(program, ignored) || ::access(program.c_str(), X_OK) != 0)
    throw InputError(fmt::format("{}: {} is no program that can be run.", flag, given));
  return program;
}

// Each folder is one gate's alone.
fs::path new_folder(const std::string& out) {
  const fs::path folder =
      out.empty() ? fs::path("results/runs") / new_run_id("gate") : fs::path(out);
  std::error_code error;
  const bool used = fs::exists(folder, error) && !fs::is_empty(folder, error);
  if (used)
    throw InputError(fmt::format("--out {} is not empty; name another folder.", folder.string()));
  fs::create_directories(folder, error);
  if (error || ::access(folder.c_str(), W_OK | X_OK) != 0)
    throw InputError(fmt::format("--out {} cannot be written: {}.", folder.string(),
                                 error ? error.message() : std::strerror(errno)));
  return folder;
}

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) throw InputError(fmt::format("{} cannot be written.", file.string()));
}

class Gate {
 public:
  Gate(const GateArguments& a, GateProgram programs)
      : programs_(std::move(programs)),
        folder_(new_folder(a.out)),
        pairs_(count_of("--pairs", a.pairs, a.self_test ? self_test_pairs : usual_pairs)),
        confirm_(count_of("--confirm", a.confirm, usual_confirm)) {
    report_.seed = seed_of(a);
    report_.folder = folder_.string();
    report_.timed = !a.exact;
  }

  // What must repeat exactly. false: interrupted.
  bool exact(const std::string& suite, const std::string& exact_suite) {
    for (const auto& [flag, given, name] :
         {std::tuple("--suite", suite, "gate"),
          std::tuple("--exact-suite", exact_suite, "gate-exact")}) {
      const fs::path file = folder_ / fmt::format("{}.suite", name);
      write_text(file, suite_text(flag, given.empty() ? name : given));
      const GateFolders sides = {folder_ / name / "base", folder_ / name / "head"};
      fs::create_directories(folder_ / name);
      say(fmt::format("what must repeat exactly, {}", given.empty() ? name : given));
      if (!run_sides(programs_, file, sides, interrupts_)) return false;
      if (std::string_view(name) == "gate" && report_.timed) report_.cells = timed_cells(sides);
      report_.exact.push_back(compare(read_side("base", sides.base), read_side("head", sides.head),
                                      {.exact_only = true}));
    }
    return true;
  }

  // The two sides are one program: only its cells are asked for.
  bool resolve(const std::string& suite) {
    const fs::path file = folder_ / "gate.suite";
    write_text(file, suite_text("--suite", suite.empty() ? "gate" : suite));
    const GateFolders sides = {folder_ / "gate", folder_ / "gate"};
    if (!run_base(programs_, file, sides.base, interrupts_)) return false;
    report_.cells = timed_cells(sides);
    std::erase_if(report_.cells, [](const GateCell& c) { return c.control; });
    return true;
  }

  bool time() {
    report_.rules = gate_rules(pairs_, confirm_, report_.cells.size());
    PairRunner runner(programs_, folder_ / "samples.jsonl", report_.seed, interrupts_);
    std::vector<GateCell*> all, suspects;
    for (GateCell& c : report_.cells) all.push_back(&c);
    if (!passes(runner, GateStage::first, pairs_, all)) return false;
    for (GateCell* c : all)
      if (c->failure.empty() && report_.verdict(*c) == Gated::suspect) suspects.push_back(c);
    return passes(runner, GateStage::confirming, suspects.empty() ? 0 : confirm_, suspects);
  }

  bool collect() {
    PairRunner runner(programs_, folder_ / "samples.jsonl", report_.seed, interrupts_);
    std::vector<GateCell*> all;
    for (GateCell& c : report_.cells) all.push_back(&c);
    return passes(runner, GateStage::first, pairs_, all);
  }

  int interrupted() const {
    fmt::print(stderr, "shardmark: interrupted; what was measured is in {}\n", folder_.string());
    return 128 + interrupts_.signal();
  }

  GateReport& ended() {
    report_.seconds = static_cast<double>(now_ns() - start_) * 1e-9;
    write_text(folder_ / "gate.md", gate_markdown(report_));
    return report_;
  }
  const fs::path& folder() const { return folder_; }

 private:
  static void say(const std::string& what) { fmt::print(stderr, "shardmark gate: {}\n", what); }

  bool passes(PairRunner& runner, GateStage stage, std::size_t count,
              const std::vector<GateCell*>& cells) {
    if (count > 0 && !cells.empty())
      say(fmt::format("{} pairs of {} cells{}", count, cells.size(),
                      stage == GateStage::confirming ? ", once more" : ""));
    for (std::size_t i = 1; i <= count; ++i)
      if (!runner.pass(stage, i, cells)) return false;
    return true;
  }

  GateProgram programs_;
  fs::path folder_;
  std::size_t pairs_, confirm_;
  Interrupts interrupts_;
  std::int64_t start_ = now_ns();
  GateReport report_;
};

int self_test(const GateArguments& a) {
  std::vector<GateCell> cells;
  if (a.samples.empty()) {
    const fs::path program = program_of("--base", a.base);
    Gate gate(a, {program, program, ""});
    if (!gate.resolve(a.suite) || !gate.collect()) return gate.interrupted();
    cells = read_samples(gate.folder() / "samples.jsonl");
    fmt::print("Samples: {}\n\n", (gate.folder() / "samples.jsonl").string());
  } else {
    cells = read_samples(a.samples);
  }
  // Of the first stage there are as many as the real gate makes, whatever was collected.
  const GateRules rules =
      gate_rules(usual_pairs, count_of("--confirm", a.confirm, usual_confirm), cells.size());
  const std::uint64_t seed = a.seed.empty() ? 1 : seed_of(a);
  fmt::print("{}", replay_text(replay(cells, rules, seed, replays_of_a_cell, {1, 1.05, 1.10}),
                               cells, rules));
  return 0;
}

}  // namespace

CLI::App* add_gate(CLI::App& app, GateArguments& a) {
  CLI::App* command =
      app.add_subcommand("gate", "Is a built program worse than another one? What ci/gate calls");
  command->footer(examples);
  command->allow_extras();
  add(*command, "--base", a.base, "PROGRAM", "what was before");
  add(*command, "--head", a.head, "PROGRAM", "what is now");
  add(*command, "--suite", a.suite, "NAME|FILE", "timed, and compared exactly [gate]");
  add(*command, "--exact-suite", a.exact_suite, "NAME|FILE", "compared exactly alone [gate-exact]");
  command->add_flag("--exact", a.exact, "compare what must repeat exactly, and no times");
  add(*command, "--pairs", a.pairs, "N", "pairs of each cell [20; for --self-test 60]");
  add(*command, "--confirm", a.confirm, "N", "fresh pairs of a suspect [30]");
  add(*command, "--seed", a.seed, "N", "of every order [drawn, and shown]");
  add(*command, "-o,--out", a.out, "DIR", "for records and samples [results/runs/<utc>-gate-..]");
  add(*command, "--format", a.format, "NAME", "text or markdown [text]");
  command->add_flag("--self-test", a.self_test,
                    "how often it would be wrong: --base against itself, or --samples");
  add(*command, "--samples", a.samples, "FILE", "samples.jsonl of a program with itself");
  add(*command, "--inject-head", a.inject, "FAULT", "")->group("");
  return command;
}

std::vector<std::string> gate_flag_names() {
  return {"--base", "--head",   "--suite",     "--exact-suite", "--exact", "--pairs", "--confirm",
          "--seed", "--format", "--self-test", "--samples",     "--out",   "-o",      "--help"};
}

int gate_command(const GateArguments& a) {
  if (!a.format.empty() && a.format != "text" && a.format != "markdown")
    throw InputError(fmt::format("--format is \"{}\", but must be text or markdown{}", a.format,
                                 suggestion(a.format, {"text", "markdown"})));
  if (!a.samples.empty() && !a.self_test)
    throw InputError("--samples is for --self-test, which plays them to the gate again.");
  if (a.self_test) return self_test(a);
  const GateProgram programs{program_of("--base", a.base), program_of("--head", a.head), a.inject};
  // Before anything runs: whether so few pairs can show anything.
  gate_rules(count_of("--pairs", a.pairs, usual_pairs),
             count_of("--confirm", a.confirm, usual_confirm), 1);
  Gate gate(a, programs);
  if (!gate.exact(a.suite, a.exact_suite) || (!a.exact && !gate.time())) return gate.interrupted();
  const GateReport& report = gate.ended();
  fmt::print("{}", a.format == "markdown" ? gate_markdown(report) : gate_text(report));
  return report.end() == GateEnd::passed         ? 0
         : report.end() == GateEnd::inconclusive ? exit_inconclusive
                                                 : 1;
}

}  // namespace shardmark
