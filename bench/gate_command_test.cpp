// Does the gate, run for real between two programs, find what one of them was made to do? Head is a
// script around the built program that changes one thing.
#include <gtest/gtest.h>

#include "bench/example_records.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using example::has;
using testing::Folder;
using testing::Ran;
namespace fs = std::filesystem;

constexpr const char* suite =
    "--model mlp:layers=1,width=16 --strategy ddp --ranks 2 --overlap off --batch 1 "
    "--sequence 16 --steps 3\n";

class Gate : public ::testing::Test {
 protected:
  Gate() { testing::write(f / "s.suite", suite); }
  // body: of a shell script whose $real is the built program.
  std::string program(const std::string& body) {
    testing::write(f / "head", "#!/bin/sh\nreal=" + std::string(SHARDMARK_BINARY) + "\n" + body);
    fs::permissions(f / "head", fs::perms::owner_all);
    return "./head";
  }
  Ran gate(const std::string& head, const std::string& more) {
    return testing::shardmark(
        f, "gate --base " + std::string(SHARDMARK_BINARY) + " --head " + head +
               " --suite ./s.suite --exact-suite ./s.suite --seed 5 --out out " + more);
  }
  Folder f;
};

TEST_F(Gate, finds_no_exact_difference_between_a_program_and_itself) {
  const Ran ran = gate(SHARDMARK_BINARY, "--exact");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.out, "Gate passed: 2 cells equal exactly.")) << ran.out;
  EXPECT_TRUE(has(testing::read(f / "out/gate.md"), "**Gate passed"));
}

// Every forward span of one rank takes 5 ms longer: a step of less than that cannot hide it.
TEST_F(Gate, finds_a_delay_and_keeps_the_samples) {
  const Ran ran =
      gate(SHARDMARK_BINARY, "--pairs 3 --confirm 7 --inject-head delay:rank=0,phase=forward,ms=5");
  EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.out, "SLOWER")) << ran.out;
  EXPECT_TRUE(has(ran.out, "3 of 3  7 of 7")) << ran.out;
  const auto samples = testing::lines_of(f / "out/samples.jsonl");
  // Two cells, of which one is the control, three pairs; and seven of the suspect at least.
  EXPECT_GE(samples.size(), 2u * (2 * 3 + 7));
  for (const auto& s : samples) EXPECT_EQ(s["step_ns"].size(), 3u);
}

TEST_F(Gate, finds_another_exact_value) {
  const Ran ran =
      gate(program("\"$real\" \"$@\"; code=$?\n"
                   "[ \"$1\" = run ] && sed -i "
                   "'s/\"textbook_payload_bytes\":[0-9]*/\"textbook_payload_bytes\":7/' "
                   "\"$7/records.jsonl\"\nexit $code\n"),
           "--exact --format markdown");
  EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.out, "**Gate regression: 2 cells not equal exactly")) << ran.out;
  EXPECT_TRUE(has(ran.out, "payload bytes a step, textbook")) << ran.out;
}

TEST_F(Gate, is_red_where_a_cell_of_head_fails) {
  const Ran ran =
      gate(program("[ \"$1\" = cell ] && { echo '{\"failure\":\"no luck\"}'; exit 1; }\n"
                   "exec \"$real\" \"$@\"\n"),
           "--pairs 3 --confirm 7");
  EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.out, "did not end in head: no luck.")) << ran.out;
}

TEST_F(Gate, says_in_a_sentence_why_a_side_cannot_be_measured) {
  const Ran old = testing::shardmark(
      f, "gate --base " + program("echo 'shardmark: --new is no flag' >&2; exit 2\n") + " --head " +
             SHARDMARK_BINARY + " --suite ./s.suite --exact");
  EXPECT_EQ(old.code, 2);
  EXPECT_TRUE(has(old.err,
                  "base does not take gate.suite: shardmark: --new is no flag (a base "
                  "that is too old"))
      << old.err;
  const Ran empty = gate(program("exit 0\n"), "--exact");
  EXPECT_EQ(empty.code, 1);
  EXPECT_TRUE(has(empty.err, "head left no records of gate.suite")) << empty.err;
}

TEST_F(Gate, refuses_what_is_no_input) {
  const std::string base = "gate --base " + std::string(SHARDMARK_BINARY);
  const std::pair<std::string, const char*> wrong[] = {
      {"gate", "--base is not given"},
      {base, "--head is not given"},
      {base + " --head ./nothing", "--head: ./nothing is no program that can be run"},
      {base + " --head ./s.suite", "is no program"},
      {base + " --head " + SHARDMARK_BINARY + " --pairs 2", "--pairs is 2"},
      {base + " --head " + SHARDMARK_BINARY + " --confirm 6", "--confirm is 6"},
      {base + " --head " + SHARDMARK_BINARY + " --format html", "must be text or markdown"},
      {base + " --head " + SHARDMARK_BINARY + " --samples s", "--samples is for --self-test"},
      {base + " --head " + SHARDMARK_BINARY + " --suite ./none.suite", "there is no file"},
      {"gate --self-test --samples ./s.suite", "line 1 of ./s.suite is no sample"}};
  for (const auto& [typed, sentence] : wrong) {
    const Ran ran = testing::shardmark(f, typed);
    EXPECT_EQ(ran.code, 2) << typed;
    EXPECT_TRUE(has(ran.err, sentence)) << typed << "\n" << ran.err;
    EXPECT_TRUE(ran.out.empty()) << ran.out;
  }
}

TEST_F(Gate, plays_its_own_samples_again) {
  const Ran ran =
      testing::shardmark(f, "gate --self-test --base " + std::string(SHARDMARK_BINARY) +
                                " --suite ./s.suite --pairs 50 --out st && " + SHARDMARK_BINARY +
                                " gate --self-test --samples st/samples.jsonl");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.out, "50 pairs of a program with itself")) << ran.out;
}

}  // namespace
}  // namespace shardmark
