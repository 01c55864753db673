// Does `shardmark collectives`, run for real, measure, record and refuse, and are its records kept
// apart from those of trainings?
#include <gtest/gtest.h>

#include "bench/collectives.hpp"
#include "bench/collectives_table.hpp"
#include "bench/record.hpp"
#include "bench/test_support.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"
#include "impl/comm/mpi.hpp"
#include "kernels/cpu/cores.hpp"

namespace shardmark {
namespace {

using nlohmann::json;
using testing::Folder;
using testing::Ran;

const std::string little = "collectives --size 4B,4KiB,64KiB --ranks 2 --repeats 1 --out out ";

void expect_good_records(const Folder& f, std::size_t count) {
  const auto records = testing::lines_of(f / "out/records.jsonl");
  EXPECT_EQ(records.size(), count);
  for (const json& r : records) {
    EXPECT_EQ(testing::schema_errors(r), "");
    EXPECT_EQ(r["kind"], "collectives");
    EXPECT_EQ(r["status"], "ok") << r["reason"];
    EXPECT_EQ(r["collectives"]["wrong_elements"], 0);
    EXPECT_EQ(r["hosts"].size(), 2u);
  }
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(collectives, thread_ranks_are_measured_and_shown_within_100_columns) {
  const Folder f;
  const Ran ran = testing::shardmark(f, little + "--comm thread --rounds 2");
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* part :
       {"thread ranks  ·  2 ranks", "REDUCE-SCATTER", "ALL-GATHER", "ALL-REDUCE", "busbw", "LINES"})
    EXPECT_TRUE(has(ran.out, part)) << part;
  for (const std::string& line : split(ran.out, '\n')) EXPECT_LE(display_width(line), 100u) << line;
  expect_good_records(f, 2);
}

TEST(collectives, an_emulated_link_is_marked) {
  const Folder f;
  const Ran ran =
      testing::shardmark(f, little + "--comm thread --link 1gbit,20us --verb all_gather");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "emulated link 1gbit + 20us"));
  expect_good_records(f, 1);
  const json record = testing::lines_of(f / "out/records.jsonl").at(0);
  EXPECT_EQ(record["emulated_link"]["rate_bytes_per_second"], 125e6);
  EXPECT_EQ(record["emulated_link"]["latency_ns"], 20'000);
}

TEST(collectives, mpi_ranks_set_ring_and_library_side_by_side) {
  if (!mpi::built()) GTEST_SKIP() << "built without MPI";
  const Folder f;
  const Ran ran = testing::shardmark(f, little + "--comm mpi");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "library")) << ran.out;
  expect_good_records(f, 1);
  EXPECT_EQ(testing::lines_of(f / "out/records.jsonl").at(0)["oversubscribed"],
            usable_cores() < 2);  // as its ranks found it
}

// Whose lack nobody asked about.
TEST(collectives, without_mpirun_threads_alone_are_measured_and_it_is_said) {
  if (!mpi::built()) GTEST_SKIP() << "built without MPI";
  const Folder f;
  const Ran ran = testing::shardmark(f, little + "--verb all_gather", "PATH=/nonexistent");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.err, "no mpirun in PATH, so that thread ranks alone")) << ran.err;
  expect_good_records(f, 1);
  const Ran asked = testing::shardmark(f, "collectives --comm mpi", "PATH=/nonexistent");
  EXPECT_EQ(asked.code, 2);
  EXPECT_TRUE(has(asked.err, "there is no mpirun in PATH; install")) << asked.err;
}

// The launcher hangs, as one does that waits for a free host.
TEST(collectives, an_interrupt_before_anything_has_run_leaves_no_run) {
  if (!mpi::built()) GTEST_SKIP() << "built without MPI";
  const Folder f;
  for (const char* command : {"collectives", "run --rounds 1"}) {
    const Ran ran = testing::shardmark(
        f, std::string(command) +
               " --comm mpi --launcher 'sh -c \"sleep 20\" {ranks}' & pid=$!; sleep 0.5; "
               "kill -TERM $pid; wait $pid; exit $?");
    EXPECT_EQ(ran.code, 143) << ran.err;
    EXPECT_TRUE(has(ran.err, "shardmark: interrupted before ")) << ran.err;
    EXPECT_TRUE(std::filesystem::is_empty(f.path()));
  }
}

TEST(collectives, a_failed_process_is_a_failed_record_and_exit_code_1) {
  const Folder f;
  const Ran ran = testing::shardmark(
      f, "collectives --comm thread --ranks 2 --size 64MiB --repeats 100 --timeout 0.05 --out out");
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(has(ran.out, "longer than its --timeout of 0.05 s")) << ran.out;
  const auto records = testing::lines_of(f / "out/records.jsonl");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(testing::schema_errors(records[0]), "");
  EXPECT_EQ(records[0]["status"], "failed");
}

TEST(collectives, records_are_not_taken_for_those_of_trainings) {
  const Folder f;
  ASSERT_EQ(testing::shardmark(f, little + "--comm thread --verb all_gather").code, 0);
  const Ran resumed = testing::shardmark(f, "run --resume out");
  EXPECT_EQ(resumed.code, 2);
  EXPECT_TRUE(has(resumed.err, "\"collectives\"")) << resumed.err;
  const Ran explained = testing::shardmark(f, "run --explain gpt-nano --out out");
  EXPECT_EQ(explained.code, 2);
  EXPECT_TRUE(has(explained.err, "its kind is \"collectives\"")) << explained.err;
  EXPECT_EQ(testing::shardmark(f, "run --strategy ddp --out out").code, 2);
  EXPECT_FALSE(std::filesystem::exists(f / "results"));
  // And the other way.
  const json training = testing::lines_of(std::string(SHARDMARK_TESTDATA) + "/records.jsonl").at(0);
  std::filesystem::create_directory(f / "trained");
  testing::write(f / "trained/records.jsonl", training.dump() + "\n");
  EXPECT_TRUE(has(testing::refused([&] { read_records(f / "trained", collectives_kind); }),
                  "its kind is \"training\""));
}

// What was wrong in one round is seen in the table of all.
TEST(collectives, the_table_pools_rounds) {
  const Folder f;
  ASSERT_EQ(testing::shardmark(f, little + "--comm thread --verb all_gather").code, 0);
  auto records = testing::lines_of(f / "out/records.jsonl");
  records.push_back(records[0]);
  records[1]["round"] = 2;
  records[1]["collectives"]["rows"][0]["wrong_elements"] = 4321;
  const std::string text = collectives_table(records);
  EXPECT_TRUE(has(text, "2 rounds")) << text;
  EXPECT_TRUE(has(text, "4,321")) << text;
}

TEST(collectives, a_wrong_element_or_a_failure_makes_the_exit_code_1) {
  const json right = {{"status", "ok"}, {"collectives", {{"wrong_elements", 0}}}};
  const json wrong = {{"status", "ok"}, {"collectives", {{"wrong_elements", 1}}}};
  const json failed = {{"status", "failed"}, {"collectives", nullptr}};
  EXPECT_EQ(collectives_verdict({right, right}), 0);
  EXPECT_EQ(collectives_verdict({right, wrong}), 1);
  EXPECT_EQ(collectives_verdict({failed, right}), 1);
  EXPECT_EQ(collectives_verdict({}), 1);
}

struct Wrong {
  const char* arguments;
  const char* sentence;
};
class WrongCollectives : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongCollectives, is_one_sentence_and_exit_2_and_leaves_nothing_behind) {
  if (!mpi::built() && has(GetParam().arguments, "mpi")) GTEST_SKIP() << "this build has no MPI";
  const Folder f;
  const Ran ran = testing::shardmark(f, std::string("collectives ") + GetParam().arguments);
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(has(ran.err, GetParam().sentence)) << ran.err;
  EXPECT_TRUE(std::filesystem::is_empty(f.path()));
}

INSTANTIATE_TEST_SUITE_P(
    input, WrongCollectives,
    ::testing::Values(
        Wrong{"--sizes 4B", "shardmark collectives has no flag --sizes; did you mean --size?"},
        Wrong{"--size 4B --size 8B", "--size is given twice; several values are separated"},
        Wrong{"--seed 1 --seed 2", "--seed is given twice; give it once."},
        Wrong{"--comm mpi --launcher none", "--launcher is \"none\", but must be a command"},
        Wrong{"--size \"\"", "--size is \"\", but must be SIZE"},
        Wrong{"--size 3B", "a multiple of 4 bytes"}, Wrong{"--rounds 0", "from 1 to 10000"},
        Wrong{"--comm thread --collectives library", "give memory or ring"},
        Wrong{"--comm mpi --launcher /nowhere/mpirun", "--launcher \"/nowhere/mpirun\""},
        Wrong{"--comm nccl", "--comm \"nccl\" is unknown; it may be thread, mpi"}));

}  // namespace
}  // namespace shardmark
