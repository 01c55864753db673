// Do flags and suites become the cells that they say, and is a wrong line named?
#include "bench/suite.hpp"

#include <gtest/gtest.h>

#include <set>

#include "bench/embedded.hpp"
#include "bench/isolated.hpp"
#include "bench/registry.hpp"
#include "bench/runner.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using testing::refused;

TEST(cells, comma_lists_multiply) {
  const auto cells = cells_of({{"--model", {"gpt-nano,gpt:layers=2,width=64,heads=2"}},
                               {"--strategy", {"ddp,zero3"}},
                               {"--ranks", {"1,2,4"}},
                               {"--overlap", {"off,on"}}});
  EXPECT_EQ(cells.size(), 2u * 2 * 3 * 2);
  std::set<std::string> ids;
  for (const Cell& c : cells) ids.insert(id_of(c));
  EXPECT_EQ(ids.size(), cells.size());
  EXPECT_TRUE(ids.count("gpt:layers=2,width=64,heads=2/zero3/n4/overlap-off"));
}

TEST(cells, all_strategies_are_the_registered_ones_in_the_order_of_the_subject) {
  const std::vector<std::string> six = {"ddp",   "zero1",       "zero2",
                                        "zero3", "zero1_naive", "zero2_naive"};
  EXPECT_EQ(strategy_names(), six);
  for (const Given& given : {Given{}, Given{{"--strategy", {"all"}}}}) {
    std::vector<std::string> names;
    for (const Cell& c : cells_of(given)) names.push_back(c.strategy);
    EXPECT_EQ(names, six);
  }
}

TEST(cells, a_global_batch_is_shared_by_ranks_and_micro_steps) {
  const Given given = {{"--strategy", {"ddp"}},
                       {"--ranks", {"1,2,4"}},
                       {"--accumulate", {"3"}},
                       {"--global-batch", {"24"}}};
  std::vector<std::int64_t> batches;
  for (const Cell& c : cells_of(given)) batches.push_back(c.batch);
  EXPECT_EQ(batches, (std::vector<std::int64_t>{8, 4, 2}));
  Given wrong = given;
  wrong["--global-batch"] = {"10"};
  EXPECT_EQ(refused([&] { cells_of(wrong); }),
            "--global-batch is 10, which 1 ranks x 3 micro-steps do not divide evenly; give a "
            "multiple of 3.");
}

TEST(cells, buckets_are_decimal_megabytes_and_become_elements) {
  const Cell c = cells_of({{"--strategy", {"ddp"}}, {"--bucket-mb", {"1.5"}}}).at(0);
  EXPECT_EQ(c.bucket_bytes, 1'500'000u);
  EXPECT_EQ(training_of(c, {}).options.bucket_elements, 375'000u);
}

// One change of every flag: each gives another id, and comes back from JSON unchanged.
TEST(cells, ids_tell_all_cells_apart_and_json_keeps_them) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"--model", "mlp-3x1024"},  {"--strategy", "zero2"},
      {"--ranks", "3"},           {"--threads-per-rank", "2"},
      {"--batch", "5"},           {"--accumulate", "2"},
      {"--sequence", "128"},      {"--steps", "11"},
      {"--warmup", "3"},          {"--clip", "0"},
      {"--lr", "0.01"},           {"--seed", "2"},
      {"--data", "a.txt"},        {"--data", "b/a.txt"},
      {"--bucket-mb", "25"},      {"--bucket-mb", "0"},
      {"--buckets", "3"},         {"--overlap", "off"},
      {"--all-reduce", "direct"}, {"--memory-limit", "8GB"},
      {"--memory-limit", "8GiB"}, {"--timeout", "5"},
      {"--comm-timeout", "5"},    {"--inject", "throw:rank=1,step=2"}};
  std::set<std::string> ids = {id_of(Cell())};
  // Those about ranks and links are tried in transport_test, those about precision, memory and
  // what does not learn in cell_options_test.
  std::set<std::string> flags = {
      "--global-batch",  "--device",    "--comm",         "--collectives", "--link",
      "--prefetch",      "--launcher",  "--interface",    "--network",     "--keep-last",
      "--persist-below", "--precision", "--reduce-dtype", "--loss-scale",  "--loss-scale-window",
      "--recompute",     "--freeze",    "--vocab"};
  for (const auto& [flag, value] : changes) {
    Given given = {{flag, {value}}};
    if (flag != "--strategy") given["--strategy"] = {"ddp"};
    const Cell c = cells_of(given).at(0);
    EXPECT_TRUE(ids.insert(id_of(c)).second) << id_of(c);
    EXPECT_EQ(cell_from_json(to_json(c)), c) << id_of(c);
    flags.insert(flag);
  }
  for (const CellFlag& flag : cell_flags())
    EXPECT_TRUE(flags.count(flag.name)) << flag.name << " is not tried";
}

TEST(cells, json_with_a_missing_unknown_or_mistyped_key_is_refused) {
  nlohmann::json good = to_json(Cell()), missing = good, unknown = good, fraction = good,
                 word = good, none = good;
  missing.erase("ranks");
  unknown["rank"] = 2;
  fraction["ranks"] = 1.5;
  word["batch"] = "four";
  none["ranks"] = 0;
  EXPECT_EQ(refused([&] { cell_from_json(missing); }), "a cell lacks the key \"ranks\".");
  EXPECT_EQ(refused([&] { cell_from_json(unknown); }),
            "a cell's key \"rank\" is unknown; did you mean ranks?");
  EXPECT_EQ(refused([&] { cell_from_json(fraction); }),
            "a cell's \"ranks\" is 1.5, which is of the wrong type.");
  EXPECT_EQ(refused([&] { cell_from_json(none); }),
            "a cell's \"ranks\" is \"0\", but must be a whole number from 1 to 256.");
  EXPECT_NE(refused([&] { cell_from_json(word); }), "");
}

// A file is bounded as flags are: what no flag can say, no file can.
TEST(cells, json_outside_of_the_bounds_of_flags_is_refused) {
  const auto sentence = [](const char* key, const nlohmann::json& value) {
    nlohmann::json cell = to_json(Cell());
    cell[key] = value;
    return refused([&] { cell_from_json(cell); });
  };
  EXPECT_EQ(sentence("device", "gpu"),
            "a cell's \"device\" \"gpu\" is unknown; it may be cpu or cuda; did you mean cpu?");
  EXPECT_EQ(sentence("comm", "gloo"),
            "a cell's \"comm\" \"gloo\" is unknown; it may be thread or mpi or nccl.");
  EXPECT_EQ(sentence("all_reduce", "foo"),
            "a cell's \"all_reduce\" \"foo\" is unknown; it may be composed or direct.");
  EXPECT_EQ(sentence("ranks", true), "a cell's \"ranks\" is true, which is of the wrong type.");
  EXPECT_EQ(sentence("bucket_bytes", -4),
            "a cell's \"bucket_bytes\" is -4, which is of the wrong type.");
  EXPECT_EQ(sentence("bucket_bytes", 3),
            "a cell's \"bucket_bytes\" is 3, but must be 0 (a layer's) or from 4 to "
            "1000000000000.");
  EXPECT_EQ(sentence("memory_limit_bytes", -1),
            "a cell's \"memory_limit_bytes\" is -1, but must be null (no limit) or a whole number "
            "above 0.");
  EXPECT_EQ(sentence("timeout_s", -1),
            "a cell's \"timeout_s\" is \"-1\", but must be a number above 0 and at most 1000000.");
  EXPECT_EQ(sentence("ranks", 257),
            "a cell's \"ranks\" is \"257\", but must be a whole number from 1 to 256.");
}

TEST(cells, a_memory_limit_can_be_none) {
  EXPECT_EQ(
      cells_of({{"--strategy", {"ddp"}}, {"--memory-limit", {"none"}}}).at(0).memory_limit_bytes,
      0u);
}

TEST(cells, threads_are_counted_against_cores) {
  Cell c;  // two ranks, each with a thread that computes and one that communicates
  EXPECT_TRUE(oversubscribed(c, 3));
  EXPECT_FALSE(oversubscribed(c, 4));
  c.overlap = false;
  EXPECT_FALSE(oversubscribed(c, 2));
  c.ranks = 1;
  c.overlap = true;  // nobody to communicate with
  EXPECT_FALSE(oversubscribed(c, 1));
}

TEST(suites, lines_comments_and_the_run_line) {
  const Suite s = parse_suite("s",
                              "# a comment\n\n"
                              "run: --rounds 3 --order-seed 9\n"
                              "--strategy ddp,zero1 --ranks 2  # two cells\n"
                              "--strategy ddp --model mlp:layers=2,width=64 --data '" +
                                  std::string(SHARDMARK_TESTDATA "/table.txt") + "'\n",
                              {});
  EXPECT_EQ(s.run.rounds, 3);
  EXPECT_EQ(s.run.order_seed, 9u);
  ASSERT_EQ(s.cells.size(), 3u);
  EXPECT_EQ(s.cells[2].data, std::vector<std::string>{SHARDMARK_TESTDATA "/table.txt"});
}

TEST(suites, flags_of_the_command_line_replace_those_of_every_line) {
  const Suite s = parse_suite("s", "--strategy ddp --steps 3\n--strategy zero1 --batch 8\n",
                              {{"--steps", {"5"}}, {"--global-batch", {"4"}}});
  ASSERT_EQ(s.cells.size(), 2u);
  for (const Cell& c : s.cells) {
    EXPECT_EQ(c.steps, 5);
    EXPECT_EQ(c.batch, 2);
  }
}

TEST(suites, a_cell_that_is_there_twice_runs_once_and_is_mentioned) {
  const Suite s = parse_suite("s", "--strategy ddp,zero1\n--strategy ddp\n", {});
  EXPECT_EQ(s.cells.size(), 2u);
  ASSERT_EQ(s.notes.size(), 1u);
  EXPECT_EQ(s.notes[0],
            "gpt-nano/ddp/n2/overlap-on is there more than once and runs once a round.");
}

TEST(suites, a_bad_line_is_named_by_its_number) {
  const auto sentence = [](const std::string& line) {
    return refused([&] { parse_suite("my.suite", "--strategy ddp\n# x\n" + line + "\n", {}); });
  };
  EXPECT_EQ(sentence("--rank 2"),
            "my.suite, line 3: --rank is no flag that can stand here; did you mean --ranks?");
  EXPECT_EQ(sentence("gpt-nano"),
            "my.suite, line 3: \"gpt-nano\" is no flag; a line is flags of `shardmark run`, such "
            "as --model gpt-nano --ranks 2.");
  EXPECT_EQ(sentence("--ranks"), "my.suite, line 3: --ranks has no value.");
  EXPECT_EQ(sentence("--ranks 2 4"),
            "my.suite, line 3: --ranks has a second value \"4\"; separate values by commas, "
            "without blanks.");
  EXPECT_EQ(sentence("--ranks 2 --ranks 4"), "my.suite, line 3: --ranks is given twice.");
  EXPECT_EQ(sentence("--ranks 2,0"),
            "my.suite, line 3: --ranks is \"0\", but must be a whole number from 1 to 256.");
  EXPECT_EQ(sentence("run: --rounds 0"),
            "my.suite, line 3: --rounds is \"0\", but must be a whole number from 1 to 10000.");
  EXPECT_NE(
      sentence("run: --ranks 2").find("my.suite, line 3: --ranks is no flag that can stand here"),
      std::string::npos);
  EXPECT_NE(sentence("--strategy zero9").find("my.suite, line 3: --strategy \"zero9\" is unknown"),
            std::string::npos);
  EXPECT_NE(refused([] { parse_suite("my.suite", "# nothing\n", {}); }), "");
}

TEST(suites, the_ones_that_are_carried_can_be_run) {
  for (const char* name : {"default", "smoke", "wires", "precision"})
    EXPECT_GE(load_suite(name, {}).cells.size(), 6u) << name;
  EXPECT_NE(refused([] { load_suite("smok", {}); }).find("did you mean smoke?"), std::string::npos);
}

TEST(answers, name_no_type_of_the_library) {
  ProcessEnd end;
  end.exit_code = 1;
  end.output = R"({"failure": "rank 1 failed at step 2: std::bad_alloc"})";
  EXPECT_EQ(answer_of(Cell(), end).failure, "rank 1 failed at step 2: memory ran out");
}

// Each order is a permutation; another round and another seed give another one.
TEST(order, is_seeded_and_complete) {
  std::set<std::vector<std::size_t>> orders;
  for (const std::uint64_t seed : {1u, 2u})
    for (const std::int64_t round : {1, 2, 3}) {
      const auto order = order_of(12, seed, round);
      EXPECT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), 12u);
      EXPECT_EQ(order, order_of(12, seed, round));
      orders.insert(order);
    }
  EXPECT_EQ(orders.size(), 6u);
}

}  // namespace
}  // namespace shardmark
