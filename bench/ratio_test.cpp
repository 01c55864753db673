// Is the interval of a ratio the one that the tables of the rank-sum statistic give, and does it
// miss as rarely as it says?
#include "bench/ratio.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace shardmark {
namespace {

using Times = std::vector<double>;

Times scaled(Times times, double by) {
  for (double& t : times) t *= by;
  return times;
}

// 100, 101, ...: distinct, so that no two ratios of a small set fall together.
Times counted(std::size_t n) {
  Times times;
  for (std::size_t i = 0; i < n; ++i) times.push_back(100 + static_cast<double>(i));
  return times;
}

Times sorted_ratios(const Times& base, const Times& head) {
  Times all;
  for (const double b : base)
    for (const double h : head) all.push_back(h / b);
  std::sort(all.begin(), all.end());
  return all;
}

// Of 252 orders of 5 and 5, those with at most 2 pairs the other way round are 1 + 1 + 2 = 4.
TEST(ratio, of_five_rounds_a_side_leaves_out_two_pairs_at_each_end) {
  const Times base = counted(5);
  const Ratio r = ratio_of(base, scaled(base, 1.1));
  EXPECT_NEAR(r.estimate, 1.1, 1e-12);
  ASSERT_TRUE(r.has_interval);
  EXPECT_NEAR(r.low, 1.1 * 101 / 104, 1e-12);
  EXPECT_NEAR(r.high, 1.1 * 104 / 101, 1e-12);
  EXPECT_NEAR(r.confidence, 1 - 2 * 4 / 252.0, 1e-12);
}

TEST(ratio, of_few_rounds_takes_all_pairs_and_says_what_that_is_worth) {
  struct Case {
    std::size_t base, head;
    double confidence;  // 1 - 2 / (base + head over base)
  };
  for (const Case c : {Case{3, 3, 1 - 2 / 20.0}, Case{4, 4, 1 - 2 / 70.0}, Case{2, 6, 1 - 2 / 28.0},
                       Case{6, 2, 1 - 2 / 28.0}}) {
    const Ratio r = ratio_of(counted(c.base), counted(c.head));
    ASSERT_TRUE(r.has_interval) << c.base << " " << c.head;
    EXPECT_NEAR(r.confidence, c.confidence, 1e-12) << c.base << " " << c.head;
    EXPECT_NEAR(r.low, 100.0 / (99 + static_cast<double>(c.base)), 1e-12);
    EXPECT_NEAR(r.high, (99 + static_cast<double>(c.head)) / 100.0, 1e-12);
  }
}

TEST(ratio, of_one_round_or_of_too_few_has_no_interval) {
  for (const auto& [base, head] :
       {std::pair(1, 1), std::pair(1, 20), std::pair(20, 1), std::pair(2, 2), std::pair(2, 3)}) {
    const Ratio r = ratio_of(counted(static_cast<std::size_t>(base)),
                             scaled(counted(static_cast<std::size_t>(head)), 2));
    EXPECT_FALSE(r.has_interval) << base << " " << head;
    EXPECT_EQ(verdict_of(r, 0.03), Verdict::ambiguous);
  }
}

// Published tables for 10 and 10, two-sided 5 %: critical U = 23, whose one-sided tail is 0.0216.
TEST(ratio, of_ten_rounds_a_side_has_the_critical_value_of_the_tables) {
  const Times base = counted(10), head = scaled(counted(10), 1.003);
  const Ratio r = ratio_of(base, head);
  const Times all = sorted_ratios(base, head);
  EXPECT_DOUBLE_EQ(r.low, all[23]);
  EXPECT_DOUBLE_EQ(r.high, all[100 - 24]);
  EXPECT_NEAR(r.confidence, 1 - 2 * 0.0216, 2e-4);
}

// 625 / 2 - 1.96 sqrt(625 x 51 / 12) = 312.5 - 101.0
TEST(ratio, of_many_rounds_follows_the_normal_distribution) {
  const Times base = counted(25), head = scaled(counted(25), 1.0007);
  const Ratio r = ratio_of(base, head);
  EXPECT_DOUBLE_EQ(r.low, sorted_ratios(base, head)[210]);
  EXPECT_DOUBLE_EQ(r.high, sorted_ratios(base, head)[625 - 211]);
  EXPECT_EQ(r.confidence, 0.95);
}

TEST(ratio, turned_round_is_the_inverse) {
  const Times a = {90, 100, 101, 120, 99, 130}, b = {95, 140, 111, 102};
  const Ratio there = ratio_of(a, b), back = ratio_of(b, a);
  EXPECT_NEAR(there.estimate * back.estimate, 1, 1e-12);
  EXPECT_NEAR(there.low * back.high, 1, 1e-12);
  EXPECT_NEAR(there.high * back.low, 1, 1e-12);
}

// Whatever the distribution: 5 and 5 alike miss in 8 of 252 experiments, 3 standard deviations of
// 4000 of them around it.
TEST(ratio, misses_as_often_as_it_says) {
  std::mt19937_64 random(7);
  const auto time = [&] { return 1 + std::pow(static_cast<double>(random() >> 11) * 0x1p-53, 8); };
  constexpr int experiments = 4000;
  int missed = 0;
  for (int i = 0; i < experiments; ++i) {
    Times a(5), b(5);
    std::generate(a.begin(), a.end(), time);
    std::generate(b.begin(), b.end(), time);
    const Ratio r = ratio_of(a, b);
    missed += r.low > 1 || r.high < 1 ? 1 : 0;
  }
  const double p = 8 / 252.0, sd = std::sqrt(p * (1 - p) / experiments);
  EXPECT_NEAR(missed / static_cast<double>(experiments), p, 3 * sd);
}

Ratio between(double low, double high) {
  return {.estimate = std::sqrt(low * high),
          .has_interval = true,
          .low = low,
          .high = high,
          .confidence = 0.95};
}

TEST(verdict, needs_the_whole_interval) {
  EXPECT_EQ(verdict_of(between(0.98, 1.02), 0.03), Verdict::same);
  EXPECT_EQ(verdict_of(between(1.031, 1.2), 0.03), Verdict::slower);
  EXPECT_EQ(verdict_of(between(0.9, 0.97), 0.03), Verdict::faster);
  EXPECT_EQ(verdict_of(between(1.02, 1.04), 0.03), Verdict::ambiguous);
  EXPECT_EQ(verdict_of(between(0.96, 0.98), 0.03), Verdict::ambiguous);
  EXPECT_EQ(verdict_of(between(0.9, 1.1), 0.03), Verdict::ambiguous);
  EXPECT_EQ(verdict_of(between(1.031, 1.2), 0.25), Verdict::same);
}

TEST(verdict, is_the_opposite_one_the_other_way_round) {
  EXPECT_EQ(verdict_of(between(1.0305, 1.04), 0.03), Verdict::slower);
  EXPECT_EQ(verdict_of(between(1 / 1.04, 1 / 1.0305), 0.03), Verdict::faster);
}

}  // namespace
}  // namespace shardmark
