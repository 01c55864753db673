// What does a comparison make of rounds that did not end, checks that were not made, keys that base
// does not repeat, and sides that mix builds?
#include <gtest/gtest.h>

#include "bench/compare.hpp"
#include "bench/compare_text.hpp"
#include "bench/example_records.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using example::has;
using nlohmann::json;
using testing::Folder;
using testing::refused;
using Lines = std::vector<json>;

Lines rounds_of(const char* strategy, int rounds) {
  Lines run;
  for (int round = 1; round <= rounds; ++round)
    run.push_back(example::record_of(strategy, true, round, 100));
  return run;
}

Lines failed(Lines run, std::size_t rounds, const char* reason) {
  for (std::size_t i = 0; i < rounds; ++i) example::set_failed(run[i], "failed", reason);
  return run;
}

Lines joined(Lines a, const Lines& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Side side_of(const Lines& run) {
  const Folder folder;
  std::string text;
  for (const json& r : run) text += r.dump() + "\n";
  testing::write(folder / "records.jsonl", text);
  return read_side("HEAD", folder.path());
}

Comparison compared(const Lines& base, const Lines& head, const CompareOptions& options = {}) {
  return compare(side_of(base), side_of(head), options);
}

bool noted(const ComparedCell& c, const std::string& part) {
  for (const std::string& note : c.notes)
    if (has(note, part)) return true;
  return false;
}

TEST(compare_rounds, a_key_that_base_does_not_repeat_is_left_out_and_no_other) {
  Lines base = rounds_of("zero1", 3), head = base;
  base[1]["training"]["loss"][4] = 1;
  head[0]["training"]["loss"][4] = 2;
  head[0]["training"]["parameter_hash"] = "0000";
  const ComparedCell c = compared(base, head).cells.at(0);
  ASSERT_EQ(c.differences.size(), 1u);
  EXPECT_EQ(c.differences[0].what, "hash of the final parameters");
  EXPECT_TRUE(noted(c, "not compared: loss, since rounds of base itself differ"));
}

TEST(compare_rounds, a_higher_share_that_did_not_end_differs_and_a_lower_one_is_noted) {
  const Lines run = rounds_of("zero1", 6);
  const Lines one = failed(run, 1, "a rank died"), two = failed(run, 2, "no memory");
  const ComparedCell more = compared(one, two).cells.at(0);
  ASSERT_EQ(more.differences.size(), 1u);
  EXPECT_EQ(more.differences[0].what, "rounds that did not end");
  EXPECT_EQ(more.differences[0].base, "1 of 6");
  EXPECT_EQ(more.differences[0].head, "2 of 6");
  EXPECT_TRUE(noted(more, "1 of 6 in base (a rank died)"));
  EXPECT_TRUE(noted(more, "2 of 6 in head (no memory)"));
  const ComparedCell fewer = compared(two, one).cells.at(0);
  EXPECT_TRUE(fewer.differences.empty());
  EXPECT_TRUE(noted(fewer, "2 of 6 in base (no memory)"));
  // 1 of 3 is as much as 2 of 6.
  const Lines third = failed(rounds_of("zero1", 3), 1, "a rank died");
  EXPECT_TRUE(compared(third, two).cells.at(0).differences.empty());
}

TEST(compare_rounds, a_check_that_fails_on_both_sides_is_a_note) {
  Lines base = rounds_of("zero1", 3);
  for (json& r : base) r["checks"]["traffic_exact"] = false;
  const ComparedCell c = compared(base, base).cells.at(0);
  EXPECT_TRUE(c.differences.empty());
  EXPECT_TRUE(noted(c, "check traffic_exact fails on both sides"));
}

TEST(compare_rounds, a_check_that_is_made_no_longer_differs) {
  const Lines base = rounds_of("zero1", 3);
  Lines null = base, absent = base;
  for (json& r : null) r["checks"]["traffic_exact"] = nullptr;
  for (json& r : absent) r["checks"].erase("traffic_exact");
  for (const Lines& head : {null, absent}) {
    const ComparedCell c = compared(base, head).cells.at(0);
    ASSERT_EQ(c.differences.size(), 1u);
    EXPECT_EQ(c.differences[0].what, "check traffic_exact");
    EXPECT_EQ(c.differences[0].base, true);
    EXPECT_TRUE(c.differences[0].head.is_null());
    EXPECT_TRUE(compared(head, base).cells.at(0).differences.empty());
    const ComparedCell across = compared(base, head, {.across_machines = true}).cells.at(0);
    EXPECT_TRUE(across.differences.empty());
    EXPECT_TRUE(noted(across, "check traffic_exact was made in base and not in head"));
  }
}

TEST(compare_rounds, a_cell_of_one_side_keeps_why_it_did_not_end) {
  const Lines both = rounds_of("zero1", 3),
              more = joined(both, failed(rounds_of("ddp", 3), 3, "no memory"));
  const Comparison lost = compared(more, both), fresh = compared(both, more);
  EXPECT_EQ(lost.cells.at(0).verdict, Verdict::untimed);
  EXPECT_TRUE(noted(lost.cells[0], "no memory"));
  EXPECT_FALSE(lost.red());
  EXPECT_EQ(fresh.cells.at(0).verdict, Verdict::added);
  EXPECT_TRUE(noted(fresh.cells[0], "it did not end in head: no memory"));
  EXPECT_TRUE(
      noted(compared(joined(both, failed(rounds_of("ddp", 3), 1, "no memory")), both).cells.at(0),
            "1 of 3 in base (no memory)"));
}

TEST(compare_rounds, cells_that_differ_by_timeouts_alone_are_one) {
  Lines head = rounds_of("zero1", 3);
  for (json& r : head) {
    r["cell"]["timeout_s"] = 7;
    r["cell"]["comm_timeout_s"] = 3;
    r["cell"]["id"] = r["cell"]["id"].get<std::string>() + "/timeout-7/comm-timeout-3";
  }
  const Comparison c = compared(rounds_of("zero1", 3), head);
  ASSERT_EQ(c.cells.size(), 1u);
  EXPECT_EQ(c.cells[0].verdict, Verdict::same);
  // Two that could be it: neither is.
  EXPECT_EQ(compared(rounds_of("zero1", 3), joined(head, rounds_of("zero1", 3))).cells.size(), 2u);
}

TEST(compare_rounds, a_side_that_mixes_builds_or_settings_is_refused) {
  Lines builds = rounds_of("zero1", 3), settings = builds;
  builds[2]["machine"]["build"]["compiler"] = "g++ 13.1.0";
  settings[1]["cell"]["batch"] = 8;
  EXPECT_TRUE(has(refused([&] { side_of(builds); }), "the compiler: g++ 12.2.0, then g++ 13.1.0"));
  EXPECT_TRUE(has(refused([&] { side_of(settings); }), "batch: 4, then 8"));
}

}  // namespace
}  // namespace shardmark
