// What can be typed behind `shardmark collectives`? See collectives_cli.hpp.
#include "bench/collectives_cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/cli_options.hpp"

namespace shardmark {

namespace {

constexpr const char* examples = R"(
Every communicator, number of ranks and link is a process (or a world of MPI) of its
own, in which verbs, sizes and algorithms take turns in random order. Every result is
checked element by element; a wrong one makes the exit code 1.
Examples:
  shardmark collectives                                  about a minute
  shardmark collectives --verb all_reduce --size 1MiB,16MiB --ranks 2
  shardmark collectives --comm mpi --collectives ring,library --rounds 3
  shardmark collectives --comm thread --link 1gbit,50us --size 4KiB..4MiB)";

struct Flag {
  const char* name;
  const char* value;
  const char* help;
  const char* group;
  bool list = false;
};
constexpr const char* what = "What is measured";
constexpr const char* how = "The run";
constexpr Flag flags[] = {
    {"--verb", "VERB", "reduce_scatter, all_gather, all_reduce, or all [all]", what, true},
    {"--size", "SIZE", "bytes of the whole array; A..B goes by factors of 4 [4B..64MiB]", what,
     true},
    {"--ranks", "N", "ranks, 1 to 256 [2,4]", what, true},
    {"--comm", "NAME", "thread or mpi [both, where MPI can start]", what, true},
    {"--collectives", "NAME",
     "memory (threads, no link), ring, library (mpi, no link) [all that can run]", what, true},
    {"--link", "RATE[,LATENCY]", "an emulated link, such as 1gbit or 10gbit,50us [none]", what,
     true},
    {"--repeats", "R", "timed calls from 16 MiB on; 2, 4 and 8 times as many below [5]", what},
    {"--launcher", "WORDS", "starts MPI ranks, such as \"srun -n {ranks}\" [mpirun]", what},
    {"--network", "TEXT", "your own words for the network, for the record", what},
    {"--timeout", "S", "a process that takes longer fails [600]", what},
    {"--comm-timeout", "S", "a wait for peers that takes longer fails [60]", what},
    {"--seed", "N", "of the order of calls and of processes [1]", how},
    {"--rounds", "N", "times that every process runs [1]", how},
    {"--out", "DIR", "a folder for the records [results/runs/<utc>-collectives-<commit>]", how}};

bool takes_list(const std::string& name) {
  return std::any_of(std::begin(flags), std::end(flags),
                     [&](const Flag& f) { return f.name == name && f.list; });
}

}  // namespace

CLI::App* add_collectives(CLI::App& app, CollectivesArguments& a) {
  CLI::App* command =
      app.add_subcommand("collectives", "Measure the collectives alone, and check every result");
  command->footer(examples);
  command->allow_extras();
  for (const Flag& f : flags) {
    const std::string name = f.name;
    std::string& value = name == "--rounds" ? a.rounds : name == "--out" ? a.out : a.given[name];
    // Join: so that a flag that stands twice comes through, and is refused below.
    command->add_option(name, value, f.help)
        ->type_name(f.value)
        ->group(f.group)
        ->multi_option_policy(CLI::MultiOptionPolicy::Join);
  }
  return command;
}

void take_collectives_flags(const CLI::App& command, CollectivesArguments& a) {
  check_options(command, {}, takes_list);
  std::erase_if(a.given, [&](const auto& entry) { return command.count(entry.first) == 0; });
}

std::vector<std::string> collectives_flag_names() {
  std::vector<std::string> names = {"--help"};
  for (const Flag& f : flags) names.emplace_back(f.name);
  return names;
}

}  // namespace shardmark
