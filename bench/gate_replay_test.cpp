// Does a replay find what is put into it, keep the order of time, and raise no alarm where nothing
// is wrong? Samples are made here, with a known noise.
#include "bench/gate_replay.hpp"

#include <gtest/gtest.h>

#include <random>

#include "bench/example_records.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using example::has;

// Steps of 100 with up to `noise` on top, each half of a pair alike but for that; drift: what every
// pair adds to the one before.
GateCell cell_of(std::size_t pairs, double noise, double drift, bool crowded = false) {
  GateCell c{"cell", {}, {}, crowded};
  std::mt19937_64 random(7);
  const auto upto = [&] {
    return noise * static_cast<double>(random() >> 11) / static_cast<double>(1ull << 53);
  };
  for (std::size_t i = 0; i < pairs; ++i) {
    const double level = 100 + drift * static_cast<double>(i);
    c.first.push_back({level + upto(), level + upto()});
  }
  return c;
}

std::vector<Replayed> replayed(const std::vector<GateCell>& cells) {
  return replay(cells, GateRules{}, 1, 500, {1, 1.05, 1.10});
}

TEST(a_replay, finds_nothing_in_nothing_and_everything_that_noise_cannot_hide) {
  const auto all = replayed({cell_of(60, 1, 0)});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].gated, 500u);
  EXPECT_EQ(all[0].slower, 0u);
  EXPECT_EQ(all[1].slower, 500u);
  EXPECT_EQ(all[2].slower, 500u);
}

// A coin makes 13 % suspects; the halves of a pair are exchanged by a fair one.
TEST(a_replay, suspects_as_many_unchanged_cells_as_a_coin_would) {
  const auto all = replayed({cell_of(60, 1, 0)});
  EXPECT_NEAR(static_cast<double>(all[0].suspects) / 500, 0.1316, 0.05);
}

// The machine becomes twice as slow while it measures: pairs do not see it.
TEST(a_replay, is_not_fooled_by_drift) {
  const auto all = replayed({cell_of(60, 1, 100.0 / 60)});
  EXPECT_LE(all[0].slower, 1u);
  EXPECT_EQ(all[2].slower, 500u);
}

TEST(a_replay, finds_little_where_noise_is_large) {
  const auto all = replayed({cell_of(60, 200, 0)});
  EXPECT_LE(all[0].slower, 5u);
  EXPECT_LT(all[1].share(), 0.7);
}

TEST(a_replay, keeps_crowded_cells_apart) {
  const auto all = replayed({cell_of(60, 1, 0), cell_of(60, 1, 0, true)});
  ASSERT_EQ(all.size(), 6u);
  EXPECT_FALSE(all[0].crowded);
  EXPECT_TRUE(all[3].crowded);
  EXPECT_EQ(all[3].cells, 1u);
  const std::string text = replay_text(all, {cell_of(60, 1, 0)}, GateRules{});
  EXPECT_TRUE(has(text, "more than cores")) << text;
  EXPECT_TRUE(has(text, "+10 %")) << text;
}

TEST(a_replay, needs_the_pairs_of_both_stages) {
  EXPECT_TRUE(has(testing::refused([] { replayed({cell_of(49, 1, 0)}); }),
                  "cell has 49 pairs, but 20 and then 30 are needed"));
}

std::string line(const char* role, int pair, const char* steps, const char* more = "") {
  return std::string("{\"sample_version\":1,\"cell\":\"a\",\"stage\":\"first\",\"pair\":") +
         std::to_string(pair) + ",\"role\":\"" + role +
         "\",\"control\":false,\"oversubscribed\":true,\"step_ns\":" + steps + more + "}\n";
}

TEST(samples, are_read_in_pairs_whoever_ran_first) {
  const testing::Folder f;
  testing::write(f / "s.jsonl", line("base", 1, "[9,7,8]") + line("head", 1, "[6,5]") +
                                    line("head", 2, "[4]") + line("base", 2, "[3,4]") +
                                    line("base", 3, "[1]"));
  const auto cells = read_samples(f / "s.jsonl");
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_TRUE(cells[0].crowded);
  ASSERT_EQ(cells[0].first.size(), 2u) << "half a pair is none";
  EXPECT_EQ(cells[0].first[0].base_ns, 7);
  EXPECT_EQ(cells[0].first[0].head_ns, 5);
  EXPECT_EQ(cells[0].first[1].base_ns, 3);
  EXPECT_EQ(cells[0].first[1].head_ns, 4);
}

TEST(samples, that_are_none_are_named_by_their_line) {
  const testing::Folder f;
  testing::write(f / "s.jsonl", line("base", 1, "[9]") + "{}\n");
  EXPECT_TRUE(has(testing::refused([&] { read_samples(f / "s.jsonl"); }), "line 2 of "));
  testing::write(f / "s.jsonl", "");
  EXPECT_TRUE(has(testing::refused([&] { read_samples(f / "s.jsonl"); }), "holds no sample"));
}

}  // namespace
}  // namespace shardmark
