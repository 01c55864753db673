#include "bench/exercises/exercise_cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bench/exercises/claims.hpp"
#include "bench/exercises/exercise.hpp"
#include "bench/isolated.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

constexpr std::size_t columns = 100;

constexpr const char* examples = R"(
Each exercise runs a small experiment on this machine, seconds, into a folder of its
own, and shows question, numbers, formula and verdict.
Examples:
  shardmark exercise                   which exercises there are
  shardmark exercise 5                 one of them
  shardmark exercise all -o answers.md
  shardmark exercise claims            what the course's texts state, checked one by one)";

using Names = std::vector<std::string>;

Names known() {
  Names all;
  for (const Exercise& e : exercises()) all.push_back(std::to_string(e.number));
  all.insert(all.end(), {"all", "claims"});
  return all;
}

int list_exercises() {
  for (const Exercise& e : exercises())
    fmt::print("shardmark exercise {}       {}\n", e.number, e.title);
  fmt::print(
      "shardmark exercise all     the five, one after the other\n"
      "shardmark exercise claims  what the course's texts state, checked one by one\n");
  return 0;
}

int interrupted(CellRunner& runner) {
  fmt::print(stderr, "shardmark: interrupted before there was an answer\n");
  return 128 + runner.interrupted_by();
}

// On a terminal each answer is shown as soon as it is there.
int answer(const std::vector<const Exercise*>& chosen, const std::string& out, CellRunner& runner) {
  Page all;
  if (chosen.size() > 1) all.title("The course's exercises, answered", 1);
  for (const Exercise* e : chosen) {
    const auto trial = run_trial(e->suite(), runner);
    if (!trial) return interrupted(runner);
    Page page = page_of(*e, *trial);
    if (out.empty()) fmt::print("{}{}", e == chosen.front() ? "" : "\n", page.text(columns));
    std::fflush(stdout);
    all.append(std::move(page));
  }
  if (!out.empty()) write_whole("--out", out, all.markdown());
  return 0;
}

int judge_claims(const std::string& out, CellRunner& runner) {
  const auto trial = run_trial("claims", runner);
  if (!trial) return interrupted(runner);
  const Page page = claims_page(*trial);
  if (out.empty()) {
    fmt::print("{}", page.text(columns));
  } else {
    write_whole("--out", out, page.markdown());
  }
  return 0;
}

}  // namespace

CLI::App* add_exercise(CLI::App& app, ExerciseArguments& a) {
  CLI::App* command =
      app.add_subcommand("exercise", "Answer the course's exercises in numbers of this machine");
  command->footer(examples);
  command->allow_extras();
  command->add_option("WHICH", a.which, "1 to 5, all, or claims")->type_name("NAME");
  // Join: so that a flag that stands twice comes through, and is refused with a sentence of ours.
  command->add_option("-o,--out", a.out, "a file for the answers, in Markdown [standard output]")
      ->type_name("FILE")
      ->multi_option_policy(CLI::MultiOptionPolicy::Join);
  return command;
}

Names exercise_flag_names() { return {"--out", "-o", "--help"}; }

int exercise_command(const ExerciseArguments& a) {
  if (a.which.empty() && a.out.empty()) return list_exercises();
  if (mpi::launched())
    throw InputError("shardmark exercise starts its cells by itself; run it without the launcher.");
  const Names names = known();
  if (a.which.empty())
    throw InputError(
        fmt::format("--out is given without an exercise; there are {}.", join(names, ", ")));
  if (std::find(names.begin(), names.end(), a.which) == names.end())
    throw InputError(fmt::format("there is no exercise \"{}\"; there are {}{}", a.which,
                                 join(names, ", "), suggestion(a.which, names)));
  if (!a.out.empty()) check_writable("--out", a.out);
  IsolatedCells runner({});
  if (a.which == "claims") return judge_claims(a.out, runner);
  std::vector<const Exercise*> chosen;
  for (const Exercise& e : exercises())
    if (a.which == "all" || a.which == std::to_string(e.number)) chosen.push_back(&e);
  return answer(chosen, a.out, runner);
}

}  // namespace shardmark
