// Are the thresholds those that the binomial distribution gives, and does a cell become slower at
// exactly that many pairs?
#include "bench/gate_verdict.hpp"

#include <gtest/gtest.h>

#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using Pairs = std::vector<TimePair>;

// So many pairs in which head takes `by` times as long, the others the other way round.
Pairs pairs_of(std::size_t slower, std::size_t all, double by = 1.05) {
  Pairs out;
  for (std::size_t i = 0; i < all; ++i)
    out.push_back(i < slower ? TimePair{100, 100 * by} : TimePair{100 * by, 100 * by - 0.1});
  return out;
}

TEST(rules, are_the_published_ones) {
  const GateRules few = gate_rules(20, 30, 20), many = gate_rules(20, 30, 21);
  EXPECT_EQ(few.suspect, 13u);
  EXPECT_EQ(few.regression, 22u);
  EXPECT_EQ(few.improvement, 18u);
  EXPECT_EQ(many.suspect, 13u);
  EXPECT_EQ(many.regression, 23u);
}

// Sums of binomial coefficients over 2^n, worked out by hand.
TEST(coins, show_so_many_heads_as_often_as_the_binomial_distribution_says) {
  EXPECT_NEAR(at_least(0, 20), 1, 1e-12);
  EXPECT_NEAR(at_least(3, 3), 1.0 / 8, 1e-12);
  EXPECT_NEAR(at_least(2, 3), 4.0 / 8, 1e-12);
  EXPECT_NEAR(at_least(13, 20), 137980.0 / 1048576, 1e-12);
  EXPECT_NEAR(at_least(18, 20), 211.0 / 1048576, 1e-12);
  EXPECT_NEAR(at_least(22, 30), 8656937.0 / 1073741824, 1e-12);
  EXPECT_NEAR(at_least(23, 30), 2804012.0 / 1073741824, 1e-12);
}

// What the target allows: one false alarm in 200 cells, by chance alone, before minima count.
TEST(coins, raise_fewer_than_one_alarm_in_200_cells) {
  EXPECT_LT(at_least(13, 20) * at_least(22, 30) * 200, 0.25);
}

TEST(rules, refuse_so_few_pairs_that_anything_could_be_chance) {
  EXPECT_EQ(gate_rules(3, 7, 1).suspect, 3u);
  EXPECT_EQ(gate_rules(3, 7, 1).regression, 7u);
  EXPECT_EQ(gate_rules(3, 9, 21).regression, 9u);
  EXPECT_NE(testing::refused([] { gate_rules(2, 30, 1); }).find("--pairs is 2"), std::string::npos);
  EXPECT_NE(testing::refused([] { gate_rules(20, 6, 1); }).find("give 7"), std::string::npos);
  EXPECT_NE(testing::refused([] { gate_rules(20, 8, 21); }).find("give 9"), std::string::npos);
}

TEST(a_cell, is_suspect_from_13_of_20_on_and_slower_from_22_of_30_on) {
  const GateRules rules;
  EXPECT_EQ(judged(pairs_of(12, 20), {}, rules), Gated::same);
  EXPECT_EQ(judged(pairs_of(13, 20), {}, rules), Gated::suspect);
  // Minima as far apart as they must be: every base of the confirming pairs is 100, head 105.
  Pairs again(30, TimePair{100, 105});
  for (std::size_t i = 22; i < 30; ++i) again[i] = {106, 105};
  EXPECT_EQ(judged(pairs_of(13, 20), again, rules), Gated::slower);
  again[21] = {106, 105};
  EXPECT_EQ(judged(pairs_of(13, 20), again, rules), Gated::same);
  EXPECT_EQ(judged(pairs_of(12, 20), Pairs(30, TimePair{100, 105}), rules), Gated::same)
      << "what was no suspect is not confirmed";
}

TEST(a_cell, is_the_same_where_only_signs_differ) {
  const GateRules rules;
  EXPECT_EQ(judged(Pairs(20, TimePair{100, 103}), Pairs(30, TimePair{100, 103}), rules),
            Gated::same);
  EXPECT_EQ(judged(Pairs(20, TimePair{100, 103.1}), Pairs(30, TimePair{100, 103.1}), rules),
            Gated::slower);
}

TEST(a_cell, is_faster_from_18_of_20_on) {
  const GateRules rules;
  Pairs pairs(20, TimePair{100, 95});
  EXPECT_EQ(judged(pairs, {}, rules), Gated::faster);
  pairs[0] = pairs[1] = {100, 101};
  EXPECT_EQ(judged(pairs, {}, rules), Gated::faster);
  pairs[2] = {100, 101};
  EXPECT_EQ(judged(pairs, {}, rules), Gated::same);
  EXPECT_EQ(judged(Pairs(20, TimePair{100, 98}), {}, rules), Gated::same);
}

TEST(a_tally, takes_a_tie_for_neither) {
  const Tally t = tally({{5, 5}, {4, 6}, {7, 3}});
  EXPECT_EQ(t.slower, 1u);
  EXPECT_EQ(t.faster, 1u);
  EXPECT_EQ(t.pairs, 3u);
  EXPECT_EQ(t.base_ns, 4);
  EXPECT_EQ(t.head_ns, 3);
}

}  // namespace
}  // namespace shardmark
