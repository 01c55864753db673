// What can be typed behind `shardmark run`? See run_cli.hpp.
#include "bench/run_cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/cli_options.hpp"
#include "bench/strategy_config.hpp"

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
  shardmark run --model gpt-micro --strategy-config ds_config.json --ranks 4
  shardmark run --strategy zero3 --rounds 1       one cell: explains where its bytes are
  shardmark run --strategy all --link none,1gbit,10gbit,50us    emulated wires, no root needed
  shardmark run --comm mpi --strategy ddp,zero3 --ranks 2,4     processes, started by mpirun
  mpirun -n 4 shardmark run --ranks 2,4           the same in a world that is there
  shardmark run --comm mpi --launcher 'srun -n {ranks}' --interface eth0 --network "25 Gbit/s"
  shardmark run --explain gpt-nano/zero1/n2/overlap-on     the same for a cell of the last run
  shardmark run --resume results/latest           go on with a run that was interrupted
  shardmark run --trace --strategy ddp,zero3      pictures of every step, for ui.perfetto.dev
  shardmark run --device cuda --comm nccl --profile cupti    what GPUs did, beside CUDA's events
A suite is a text file, whose name has a / or ends in .suite: a line is flags of
this command, # starts a comment, and "run: --rounds 3" holds for all of it; flags
given beside --suite replace its own.)";

}  // namespace

CLI::App* add_run(CLI::App& app, RunTyped& p) {
  CLI::App* run = app.add_subcommand("run", "Run cells and compare them in one table");
  run->footer(run_examples);
  run->allow_extras();
  // Join: so that a flag that stands twice comes through, and is refused with a sentence of ours.
  const auto add = [&](const char* name, std::string& value, const char* type,
                       const std::string& help) {
    run->add_option(name, value, help)
        ->type_name(type)
        ->group("The run")
        ->multi_option_policy(CLI::MultiOptionPolicy::Join);
  };
  add_cell_flags(*run, p.cell);
  add("--strategy-config", p.run.strategy_config, "FILE", strategy_config_help);
  add("--suite", p.run.suite, "FILE|NAME",
      "a suite's file, or one that the program carries [default]");
  add("--rounds", p.run.rounds, "N", "times that every cell runs [5, or the suite's]");
  add("--order-seed", p.run.order_seed, "N",
      "of the order of cells in the rounds [1, or the suite's]");
  add("--out", p.run.out, "DIR", "a folder for the records [results/runs/<utc>-<suite>-<commit>]");
  add("--resume", p.run.resume, "DIR",
      "go on with the run in this folder: what failed or was skipped runs again, what is ok "
      "does not; only --rounds and --explain may stand beside it");
  run->add_flag("--trace", p.run.trace,
                "write the steps of every cell down for Perfetto and others; a run of its own, "
                "whose times are not measurements: one round")
      ->group("The run");
  add("--profile", p.run.profile, "cupti",
      "record what GPUs did, by CUPTI; a run of its own, whose times are not measurements: one "
      "round, in which every cell trains once without the recorder and once with it");
  add("--explain", p.run.explain, "CELL",
      "where the bytes and the time of this cell are, beside the formulas; a beginning of its id "
      "is enough");
  return run;
}

void take_run_flags(const CLI::App& run, RunTyped& p) {
  check_options(run, {"--data"}, is_list_of_a_cell);
  p.run.given = given_of(run, p.cell);
}

std::vector<std::string> run_flag_names() {
  std::vector<std::string> names = {"--suite",           "--rounds", "--order-seed", "--out",
                                    "--resume",          "--trace",  "--profile",    "--explain",
                                    "--strategy-config", "--help"};
  for (const std::string& name : cell_flag_names()) names.push_back(name);
  return names;
}

}  // namespace shardmark
