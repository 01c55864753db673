// What can be typed? See cli.hpp.
#include "bench/cli.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <functional>
#include <new>
#include <optional>

#include "bench/cli_options.hpp"
#include "bench/collectives_cli.hpp"
#include "bench/collectives_execute.hpp"
#include "bench/compare_command.hpp"
#include "bench/doctor.hpp"
#include "bench/execute.hpp"
#include "bench/given_world.hpp"
#include "bench/guard.hpp"
#include "bench/import_command.hpp"
#include "bench/launcher.hpp"
#include "bench/list.hpp"
#include "bench/machine.hpp"
#include "bench/run_cli.hpp"
#include "bench/text.hpp"

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
  shardmark list         models and strategies
Exit codes: 0 all well; 1 a cell failed or a check did not hold; 2 the input is wrong;
130 interrupted (Ctrl-C), 143 terminated (SIGTERM): finished records are kept.)";

struct Parsed {
  RunTyped run;
  CollectivesArguments collectives;
  CompareArguments compare;
  ExportArguments exported;
  ImportArguments imported;
  std::string cell_file;
};

// Those that people type; what this program starts by itself are hidden ones beside them.
constexpr std::array<std::string_view, 8> commands = {"run",    "collectives", "compare", "export",
                                                      "import", "list",        "doctor",  "cell"};

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

// Reads what was typed; the exit code where that was --help or --version.
std::optional<int> parsed(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    const auto typed = app.get_subcommands();
    throw InputError(fmt::format("{}; see shardmark {}--help.", e.what(),
                                 typed.empty() ? "" : typed.front()->get_name() + " "));
  }
  return {};
}

int dispatch(int argc, char** argv, GivenWorld* world) {
  Parsed p;
  CLI::App app{main_text, "shardmark"};
  app.footer(main_examples);
  app.set_version_flag("--version", fmt::format("shardmark {}", version_text()));
  app.allow_extras();
  app.require_subcommand(0, 1);  // a second one comes to refuse_extras
  CLI::App* run = add_run(app, p.run);
  CLI::App* collectives = add_collectives(app, p.collectives);
  CLI::App* compared = add_compare(app, p.compare);
  CLI::App* exported = add_export(app, p.exported);
  CLI::App* imported = add_import(app, p.imported);
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
  if (const std::optional<int> code = parsed(app, argc, argv)) return *code;
  for (CLI::App* sub : app.get_subcommands())
    refuse_extras(*sub, "shardmark " + sub->get_name(),
                  *run           ? run_flag_names()
                  : *collectives ? collectives_flag_names()
                  : *compared    ? compare_flag_names()
                  : *exported    ? export_flag_names()
                  : *imported    ? import_flag_names()
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
  for (CLI::App* sub : {compared, exported, imported})
    if (*sub) check_options(*sub);
  if (*compared) return compare_command(p.compare);
  if (*exported) return export_command(p.exported);
  if (*imported) return import_command(p.imported);
  if (*list_command) return list();
  if (*doctor_command) return doctor();
  if (!*run) {
    fmt::print("{}", app.help());
    return 0;
  }
  take_run_flags(*run, p.run);
  return run_command(p.run.run, world);
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
