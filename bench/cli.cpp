// What can be typed? See cli.hpp.
#include "bench/cli.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <functional>
#include <new>

#include "bench/collectives_cli.hpp"
#include "bench/collectives_execute.hpp"
#include "bench/doctor.hpp"
#include "bench/execute.hpp"
#include "bench/given_world.hpp"
#include "bench/guard.hpp"
#include "bench/launcher.hpp"
#include "bench/list.hpp"
#include "bench/machine.hpp"
#include "bench/run_command.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

constexpr const char* run_examples = R"(
Comma lists multiply into cells; every cell runs in a process of its own (with --comm
mpi in one a rank), in each of --rounds rounds, in random order;
one that has failed is skipped in later rounds.
Examples:
  shardmark run                                   the default suite: start here
  shardmark run --suite smoke                     seconds: does everything run?
  shardmark run --model gpt-micro --strategy ddp,zero1 --ranks 1,2,4
  shardmark run --model gpt:layers=4,width=256,heads=8 --strategy all --overlap off,on
  shardmark run --model smollm/config.json --vocab bytes --strategy zero3 --persist-below 2000
  shardmark run --model gpt-micro --precision fp32,bf16 --recompute none,unit
  shardmark run --strategy zero3 --rounds 1       one cell: explains where its bytes are
  shardmark run --strategy all --link none,1gbit,10gbit,50us    emulated wires, no root needed
  shardmark run --comm mpi --strategy ddp,zero3 --ranks 2,4     processes, started by mpirun
  mpirun -n 4 shardmark run --ranks 2,4           the same in a world that is there
  shardmark run --comm mpi --launcher 'srun -n {ranks}' --interface eth0 --network "25 Gbit/s"
  shardmark run --explain gpt-nano/zero1/n2/overlap-on     the same for a cell of the last run
  shardmark run --resume results/latest           go on with a run that was interrupted
A suite is a text file, whose name has a / or ends in .suite: a line is flags of
this command, # starts a comment, and "run: --rounds 3" holds for all of it; flags
given beside --suite replace its own.)";

constexpr const char* main_text =
    "shardmark: what does sharding buy, and what does it cost?\n"
    "Trains the same model by different strategies (ddp, zero1, zero2, zero3 ...) and shows where\n"
    "every millisecond of a step went and where every byte is, next to the formula.";

constexpr const char* main_examples = R"(
Start here:
  shardmark run          compare all strategies on this machine
  shardmark run --help   what can be varied
  shardmark collectives  measure the collectives alone
  shardmark list         models and strategies
Exit codes: 0 all well; 1 a cell failed or a check did not hold; 2 the input is wrong;
130 interrupted (Ctrl-C), 143 terminated (SIGTERM): finished records are kept.)";

struct Parsed {
  std::map<std::string, std::string> cell;  // by flag, but for --data
  std::vector<std::string> data;
  RunArguments run;
  CollectivesArguments collectives;
  std::string cell_file;
};

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

CLI::App* add_run(CLI::App& app, Parsed& p) {
  CLI::App* run = app.add_subcommand("run", "Run cells and compare them in one table");
  run->footer(run_examples);
  run->allow_extras();
  // Join: so that a flag that stands twice comes through, and is refused with a sentence of ours.
  const auto add = [&](const char* name, std::string& value, const char* type,
                       const std::string& help, const char* group = "The run") {
    run->add_option(name, value, help)
        ->type_name(type)
        ->group(group)
        ->multi_option_policy(CLI::MultiOptionPolicy::Join);
  };
  const char* cells = "What a cell is";
  for (const CellFlag& flag : cell_flags()) {
    if (std::string_view(flag.name) == "--data") {
      run->add_option(flag.name, p.data, help_of(flag))->type_name(flag.value)->group(cells);
    } else {
      add(flag.name, p.cell[flag.name], flag.value, help_of(flag), *flag.help ? cells : "");
    }
  }
  add("--suite", p.run.suite, "FILE|NAME",
      "a suite's file, or one that the program carries [default]");
  add("--rounds", p.run.rounds, "N", "times that every cell runs [5, or the suite's]");
  add("--order-seed", p.run.order_seed, "N",
      "of the order of cells in the rounds [1, or the suite's]");
  add("--out", p.run.out, "DIR", "a folder for the records [results/runs/<utc>-<suite>-<commit>]");
  add("--resume", p.run.resume, "DIR",
      "go on with the run in this folder: what failed or was skipped runs again, what is ok "
      "does not; only --rounds and --explain may stand beside it");
  add("--explain", p.run.explain, "CELL",
      "where the bytes and the time of this cell are, beside the formulas; a beginning of its id "
      "is enough");
  return run;
}

bool takes_list(const std::string& name) {
  const auto& all = cell_flags();
  return std::any_of(all.begin(), all.end(), [&](const CellFlag& f) {
    return f.name == name && f.list != CellFlag::List::none;
  });
}

void take_cell_flags(const CLI::App& run, Parsed& p) {
  for (const CLI::Option* option : run.get_options()) {
    if (option->count() > 1 && option->get_name() != "--data")
      throw InputError(given_twice(option->get_name(), takes_list(option->get_name())));
    // An unset variable of a shell: it would count as not given, and another run would start.
    for (const std::string& value : option->results())
      if (value.empty())
        throw InputError(fmt::format("{} is \"\", but must be {}; see shardmark run --help.",
                                     option->get_name(), option->get_type_name()));
  }
  for (const auto& [flag, value] : p.cell)
    if (run.count(flag) > 0) p.run.given[flag] = {value};
  if (!p.data.empty()) p.run.given["--data"] = p.data;
}

std::vector<std::string> flag_names() {
  std::vector<std::string> names = {"--suite",  "--rounds",  "--order-seed", "--out",
                                    "--resume", "--explain", "--help"};
  for (const CellFlag& flag : cell_flags())
    if (*flag.help) names.emplace_back(flag.name);
  return names;
}

// Those that people type; what this program starts by itself are hidden ones beside them.
constexpr std::array<std::string_view, 5> commands = {"run", "collectives", "list", "doctor",
                                                      "cell"};

void refuse_extras(const CLI::App& app, const std::string& command,
                   const std::vector<std::string>& known) {
  if (app.remaining().empty()) return;
  const std::string first = split(app.remaining().front(), '=').front();
  if (command != "shardmark" &&
      std::find(commands.begin(), commands.end(), first) != commands.end())
    throw InputError(fmt::format(
        "\"{}\" is a second command behind {}; give one command at a time.", first, command));
  if (first.rfind('-', 0) == 0)
    throw InputError(fmt::format("{} has no flag {}{} See {} --help.", command, first,
                                 suggestion(first, known), command));
  if (command == "shardmark")
    throw InputError(fmt::format("there is no command {}{} See shardmark --help.", first,
                                 suggestion(first, known)));
  throw InputError(fmt::format("\"{}\" stands behind no flag. See {} --help.", first, command));
}

int dispatch(int argc, char** argv, GivenWorld* world) {
  Parsed p;
  CLI::App app{main_text, "shardmark"};
  app.footer(main_examples);
  app.set_version_flag("--version", fmt::format("shardmark {}", version_text()));
  app.allow_extras();
  app.require_subcommand(0, 1);  // a second one comes to refuse_extras
  CLI::App* run = add_run(app, p);
  CLI::App* collectives = add_collectives(app, p.collectives);
  CLI::App* list_command =
      app.add_subcommand("list", "Models, strategies, devices and communicators of this build");
  CLI::App* doctor_command =
      app.add_subcommand("doctor", "What this machine offers, and what should be changed");
  CLI::App* cell = app.add_subcommand(
      "cell", "Run one cell from a JSON file, in this process; what run does for each");
  cell->add_option("FILE", p.cell_file, "the cell, as \"cell\" in a record; -: standard input")
      ->required();
  CLI::App* collectives_cell = app.add_subcommand("collectives-cell")->group("");
  collectives_cell->add_option("FILE", p.cell_file)->required();
  for (CLI::App* sub : {list_command, doctor_command, cell, collectives_cell}) sub->allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    throw InputError(fmt::format("{}; see shardmark {}--help.", e.what(),
                                 *run           ? "run "
                                 : *collectives ? "collectives "
                                                : ""));
  }
  for (CLI::App* sub : app.get_subcommands())
    refuse_extras(*sub, "shardmark " + sub->get_name(),
                  *run           ? flag_names()
                  : *collectives ? collectives_flag_names()
                                 : std::vector<std::string>{});
  std::vector<std::string> known(commands.begin(), commands.end());
  known.insert(known.end(), {"--help", "--version"});
  refuse_extras(app, "shardmark", known);
  if (*cell) return execute_cell(p.cell_file);
  if (*collectives_cell) return execute_collectives_cell(p.cell_file);
  if (*collectives) {
    take_collectives_flags(*collectives, p.collectives);
    return collectives_command(p.collectives);
  }
  if (*list_command) return list();
  if (*doctor_command) return doctor();
  if (!*run) {
    fmt::print("{}", app.help());
    return 0;
  }
  take_cell_flags(*run, p);
  return run_command(p.run, world);
}

int said(const std::function<int()>& command) {
  try {
    return command();
  } catch (const InputError& e) {
    fmt::print(stderr, "shardmark: {}\n", e.what());
    return 2;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "shardmark: memory ran out\n");
    return 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "shardmark: {}\n", e.what());
    return 1;
  }
}

// A launcher started `shardmark run` as several ranks: the first one alone does what is typed.
int in_given_world(int argc, char** argv) {
  GivenWorld world;
  if (world.rank() != 0) return world.follow();
  const int code = said([&] { return dispatch(argc, argv, &world); });
  world.end(code);
  return code;
}

// What cannot use the ranks that a launcher started says so once.
int on_first_rank(int argc, char** argv) {
  mpi::Session session;
  if (session.rank() != 0) return std::stoi(session.listen());
  const int code = said([&] { return dispatch(argc, argv, nullptr); });
  session.tell(fmt::to_string(code));
  return code;
}

}  // namespace

int command_line(int argc, char** argv) {
  // A file that grows over the process's limit is an error of write(), with a sentence, and no end.
  ::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> typed(argv + std::min(argc, 1), argv + argc);
  const std::string command = typed.empty() ? "" : typed[0];
  return said([&] {
    // What this program starts by itself, and nobody types.
    if (command == "launch") return guard({typed.begin() + 1, typed.end()});
    if (command == "hello") return hello(argc > 2 ? argv[2] : "");
    if (command == "run" && mpi::launched()) return in_given_world(argc, argv);
    if (command == "collectives" && mpi::launched()) return on_first_rank(argc, argv);
    return dispatch(argc, argv, nullptr);
  });
}

}  // namespace shardmark
