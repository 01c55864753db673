// What can be typed? See cli.hpp.
#include "bench/cli.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <new>

#include "bench/advise_command.hpp"
#include "bench/baseline.hpp"
#include "bench/cli_options.hpp"
#include "bench/collectives_cli.hpp"
#include "bench/collectives_execute.hpp"
#include "bench/compare_command.hpp"
#include "bench/doctor.hpp"
#include "bench/execute.hpp"
#include "bench/exercises/exercise_cli.hpp"
#include "bench/gate_command.hpp"
#include "bench/given_world.hpp"
#include "bench/guard.hpp"
#include "bench/import_command.hpp"
#include "bench/launcher.hpp"
#include "bench/list.hpp"
#include "bench/machine.hpp"
#include "bench/machine_gpus.hpp"
#include "bench/predict_command.hpp"
#include "bench/report_command.hpp"
#include "bench/run_cli.hpp"
#include "bench/score_command.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

constexpr const char* main_text =
    "shardmark: what does sharding buy, and what does it cost?\n"
    "Trains the same model by different strategies (ddp, zero1, zero2, zero3 ...) and shows where\n"
    "every millisecond of a step went and where every byte is, next to the formula.";

constexpr const char* main_examples = R"(
Start here:
  shardmark run          compare all strategies on this machine
  shardmark run --help   what can be varied
  shardmark collectives  measure the collectives alone
  shardmark compare OLD NEW   what became slower, fatter or different
  shardmark import FILE  what a DeepSpeed or Accelerate config is here
  shardmark predict      bytes and volume of what is not here: any N, any known model
  shardmark advise       which strategy fits so many GPUs, and what would change that
  shardmark report RUN   one page of figures
  shardmark exercise     the course's exercises, answered in numbers
  shardmark list         models and strategies
Exit codes: 0 all well; 1 a cell failed or a check did not hold; 2 the input is wrong;
130 interrupted (Ctrl-C), 143 terminated (SIGTERM): finished records are kept.)";

struct Parsed {
  RunTyped run;
  CollectivesArguments collectives;
  CompareArguments compare;
  ExportArguments exported;
  PredictArguments predict;
  AdviseArguments advise;
  ReportArguments report;
  ScoreArguments score;
  GateArguments gate;
  BaselineArguments baseline;
  ExerciseArguments exercise;
  ImportArguments imported;
  DoctorArguments doctor;
  std::string cell_file;
};

using Names = std::vector<std::string>;

// What follows the program's name.
struct Command {
  CLI::App* parser;
  Names flags;  // that a typo may have meant
  std::function<int()> run;
};

// Hidden ones, which this program starts by itself, stand in the group "".
bool is_shown(const Command& c) { return !c.parser->get_group().empty(); }

// What `run` and `collectives` start for each of their cells.
std::vector<Command> cell_commands(CLI::App& app, Parsed& p) {
  CLI::App* cell = app.add_subcommand(
      "cell", "Run one cell from a JSON file, in this process; what run does for each");
  cell->add_option("FILE", p.cell_file, "the cell, as \"cell\" in a record; -: standard input")
      ->required();
  CLI::App* collectives = app.add_subcommand("collectives-cell")->group("");
  collectives->add_option("FILE", p.cell_file)->required();
  for (CLI::App* command : {cell, collectives}) command->allow_extras();
  return {{cell, {}, [&p] { return execute_cell(p.cell_file); }},
          {collectives, {}, [&p] { return execute_collectives_cell(p.cell_file); }}};
}

std::vector<Command> commands_of(CLI::App& app, Parsed& p, GivenWorld* world) {
  std::vector<Command> all;
  const auto add = [&](CLI::App* parser, Names flags, std::function<int()> run) {
    parser->allow_extras();
    all.push_back({parser, std::move(flags), std::move(run)});
  };
  // Whose flags are all of one value, but for what is repeatable.
  const auto plain = [&](CLI::App* parser, const Names& flags, std::function<int()> run,
                         const Names& repeatable = {}) {
    add(parser, flags, [=] {
      check_options(*parser, repeatable);
      return run();
    });
  };
  CLI::App* run = add_run(app, p.run);
  add(run, run_flag_names(), [=, &p] {
    take_run_flags(*run, p.run);
    return run_command(p.run.run, world);
  });
  CLI::App* collectives = add_collectives(app, p.collectives);
  add(collectives, collectives_flag_names(), [=, &p] {
    take_collectives_flags(*collectives, p.collectives);
    return collectives_command(p.collectives);
  });
  plain(add_compare(app, p.compare), compare_flag_names(),
        [&p] { return compare_command(p.compare); });
  plain(add_export(app, p.exported), export_flag_names(),
        [&p] { return export_command(p.exported); });
  plain(add_report(app, p.report), report_flag_names(), [&p] { return report_command(p.report); },
        {"RUN"});
  plain(add_score(app, p.score), score_flag_names(), [&p] { return score_command(p.score); },
        {"RUN"});
  plain(add_gate(app, p.gate), gate_flag_names(), [&p] { return gate_command(p.gate); });
  plain(add_baseline(app, p.baseline), baseline_flag_names(),
        [&p] { return baseline_command(p.baseline); });
  plain(add_import(app, p.imported), import_flag_names(),
        [&p] { return import_command(p.imported); });
  plain(add_exercise(app, p.exercise), exercise_flag_names(),
        [&p] { return exercise_command(p.exercise); });
  CLI::App* predicted = add_predict(app, p.predict);
  add(predicted, predict_flag_names(), [=, &p] { return predict_command(*predicted, p.predict); });
  CLI::App* advised = add_advise(app, p.advise);
  add(advised, advise_flag_names(), [=, &p] { return advise_command(*advised, p.advise); });
  add(app.add_subcommand("list", "Models, strategies, devices and communicators of this build"), {},
      list);
  plain(add_doctor(app, p.doctor), doctor_flag_names(), [&p] { return doctor(p.doctor); });
  for (Command& c : cell_commands(app, p)) all.push_back(std::move(c));
  return all;
}

// flags: that a typo may have meant; commands: all names.
void refuse_extras(const CLI::App& app, const std::string& command, const Names& flags,
                   const Names& commands) {
  if (app.remaining().empty()) return;
  const std::string first = split(app.remaining().front(), '=').front();
  if (command != "shardmark" &&
      std::find(commands.begin(), commands.end(), first) != commands.end())
    throw InputError(fmt::format(
        "\"{}\" is a second command behind {}; give one command at a time.", first, command));
  if (first.rfind('-', 0) == 0)
    throw InputError(fmt::format("{} has no flag {}{} See {} --help.", command, first,
                                 suggestion(first, flags), command));
  if (command == "shardmark")
    throw InputError(fmt::format("there is no command {}{} See shardmark --help.", first,
                                 suggestion(first, flags)));
  throw InputError(fmt::format("\"{}\" stands behind no flag. See {} --help.", first, command));
}

// What flags are for stands in a column of its own, up to column 100.
void wrap_help(CLI::App& parser) {
  constexpr std::size_t column = 30, columns = 100;
  parser.get_formatter()->column_width(column);
  for (CLI::Option* option : parser.get_options())
    option->description(wrapped(option->get_description(), columns - column));
}

int dispatch(int argc, char** argv, GivenWorld* world) {
  Parsed p;
  CLI::App app{main_text, "shardmark"};
  app.footer(main_examples);
  app.set_version_flag("--version", fmt::format("shardmark {}", version_text()));
  app.allow_extras();
  app.require_subcommand(0, 1);  // a second one comes to refuse_extras
  const std::vector<Command> commands = commands_of(app, p, world);
  for (const Command& c : commands) wrap_help(*c.parser);
  Names names;
  for (const Command& c : commands)
    if (is_shown(c)) names.push_back(c.parser->get_name());
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    const auto typed = app.get_subcommands();
    throw InputError(fmt::format("{}; see shardmark {}--help.", e.what(),
                                 typed.empty() ? "" : typed.front()->get_name() + " "));
  }
  for (const Command& c : commands)
    if (*c.parser) refuse_extras(*c.parser, "shardmark " + c.parser->get_name(), c.flags, names);
  Names typos = names;
  typos.insert(typos.end(), {"--help", "--version"});
  refuse_extras(app, "shardmark", typos, names);
  for (const Command& c : commands)
    if (*c.parser) return c.run();
  fmt::print("{}", app.help());
  return 0;
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
  prepare_for_gpus();
  const std::vector<std::string> typed(argv + std::min(argc, 1), argv + argc);
  const std::string command = typed.empty() ? "" : typed[0];
  return said([&] {
    // What this program starts by itself, and nobody types.
    if (command == "launch") return guard({typed.begin() + 1, typed.end()});
    if (command == "hello") return hello(argc > 2 ? argv[2] : "");
    if (command == "run" && mpi::launched()) return in_given_world(argc, argv);
    if ((command == "collectives" || command == "exercise") && mpi::launched())
      return on_first_rank(argc, argv);
    return dispatch(argc, argv, nullptr);
  });
}

}  // namespace shardmark
