// Does the breakdown find exposed, hidden and other time? Known answers are drawn by hand on a
// ruler of nanoseconds.
#include "profilers/breakdown.hpp"

#include <gtest/gtest.h>

namespace shardmark {
namespace {

std::int64_t sum(const StepTimes& s) {
  std::int64_t total = s.exposed_ns + s.other_ns;
  for (Phase p : {Phase::forward, Phase::recompute, Phase::backward, Phase::clip, Phase::update})
    total += s.of(p);
  return total;
}

TEST(Breakdown, CountsCommunicationUnderComputeAsHidden) {
  Timeline t;
  t.add(0, {0, 10, Phase::forward, 0, 0, 0});
  t.add(0, {10, 30, Phase::backward, 0, 0, 0});
  t.add(1, {20, 45, Phase::reduce, 0, 0, 3});  // 10 under backward, 15 alone
  t.add(0, {50, 60, Phase::update, 0, 0, 0});  // 45..50: nobody does anything
  const StepTimes s = breakdown(t, 1).at(0);
  EXPECT_EQ(s.step_ns, 60);
  EXPECT_EQ(s.of(Phase::forward), 10);
  EXPECT_EQ(s.of(Phase::backward), 20);
  EXPECT_EQ(s.communication_ns, 25);
  EXPECT_EQ(s.hidden_ns, 10);
  EXPECT_EQ(s.exposed_ns, 15);
  EXPECT_EQ(s.other_ns, 5);
  EXPECT_EQ(s.skew_ns, 3);
  EXPECT_EQ(sum(s), s.step_ns);
}

TEST(Breakdown, ClipsAGatherThatReachesIntoTheNextStep) {
  Timeline t;
  t.add(0, {0, 10, Phase::forward, 0, 0, 0});
  t.add(0, {10, 20, Phase::update, 0, 0, 0});
  t.add(1, {20, 34, Phase::gather, 0, 0,
            4});  // 20..25 before the next step begins, 25..34 under its forward
  t.add(0, {25, 40, Phase::forward, 0, 1, 0});
  const auto steps = breakdown(t, 2);
  EXPECT_EQ(steps[0].step_ns, 25);
  EXPECT_EQ(steps[0].exposed_ns, 5);
  EXPECT_EQ(steps[0].skew_ns, 4);  // it waited in this step, and only here
  EXPECT_EQ(steps[1].skew_ns, 0);
  EXPECT_EQ(steps[0].hidden_ns, 0);
  EXPECT_EQ(steps[1].step_ns, 15);
  EXPECT_EQ(steps[1].hidden_ns, 9);
  EXPECT_EQ(steps[1].exposed_ns, 0);
  for (const StepTimes& s : steps) EXPECT_EQ(sum(s), s.step_ns);
}

TEST(Breakdown, UnitesCommunicationThatOverlapsItself) {
  Timeline t;
  t.add(0, {0, 1, Phase::forward, 0, 0, 0});
  t.add(1, {1, 11, Phase::reduce, 0, 0, 0});
  t.add(1, {6, 16, Phase::gather, 0, 0, 0});
  const StepTimes s = breakdown(t, 1).at(0);
  EXPECT_EQ(s.communication_ns, 15);
  EXPECT_EQ(s.of(Phase::reduce), 10);
  EXPECT_EQ(s.of(Phase::gather), 10);
  EXPECT_EQ(s.exposed_ns, 15);
}

Interval with_gaps(Interval i, std::vector<Stretch> busy) {
  i.busy = std::move(busy);
  return i;
}

// A GPU between two kernels of a span does nothing for it: a collective runs there unhidden, and
// where none does, it is other time.
TEST(Breakdown, WhatIdlesInsideASpanHidesNothing) {
  Timeline t;
  t.add(0, with_gaps({0, 40, Phase::backward, 0, 0, 0}, {{0, 10}, {18, 20}, {30, 40}}));
  t.add(1, {5, 25, Phase::reduce, 0, 0, 0});  // 5..10 and 18..20 under backward
  const StepTimes s = breakdown(t, 1).at(0);
  EXPECT_EQ(s.step_ns, 40);
  EXPECT_EQ(s.of(Phase::backward), 22);
  EXPECT_EQ(s.communication_ns, 20);
  EXPECT_EQ(s.hidden_ns, 7);
  EXPECT_EQ(s.exposed_ns, 13);
  EXPECT_EQ(s.other_ns, 5);  // 25..30
  EXPECT_EQ(sum(s), s.step_ns);
}

// A cast, then a wait for the last rank until 12, then the transfer.
TEST(Breakdown, ACollectiveThatIdlesCommunicatesOnlyWhereItRuns) {
  Timeline t;
  t.add(0, {0, 30, Phase::backward, 0, 0, 0});
  t.add(1, with_gaps({4, 20, Phase::reduce, 0, 0, 8}, {{4, 6}, {9, 20}}));
  const StepTimes s = breakdown(t, 1).at(0);
  EXPECT_EQ(s.communication_ns, 13);
  EXPECT_EQ(s.skew_ns, 5);  // 4..6 and 9..12
  EXPECT_EQ(s.hidden_transfer_ns, 8);
}

TEST(Breakdown, APictureOfAStepIsWhatReachesIntoItsWindow) {
  Timeline t;
  t.add(0, {0, 10, Phase::update, 0, 0, 0});  // ends as the step begins
  t.add(1, {4, 14, Phase::gather, 0, 0, 8});  // waited until 12: 2 of it in the step
  t.add(0, {10, 20, Phase::forward, 0, 1, 0});
  t.add(1, {18, 40, Phase::reduce, 0, 1, 1});   // reaches out of it
  t.add(0, {30, 35, Phase::forward, 0, 2, 0});  // begins as it ends
  StepTimes step;
  step.begin_ns = 10, step.step_ns = 20;
  const Timeline picture = within(t, step);
  ASSERT_EQ(picture.lane(0).size(), 1u);
  EXPECT_EQ(picture.lane(0)[0].step, 1);
  ASSERT_EQ(picture.lane(1).size(), 2u);
  EXPECT_EQ(picture.lane(1)[0].begin_ns, 10);
  EXPECT_EQ(picture.lane(1)[0].end_ns, 14);
  EXPECT_EQ(picture.lane(1)[0].skew_ns, 2);
  EXPECT_EQ(picture.lane(1)[1].begin_ns, 18);
  EXPECT_EQ(picture.lane(1)[1].end_ns, 30);
  EXPECT_EQ(picture.lane(1)[1].skew_ns, 1);
}

TEST(Breakdown, APictureShowsWhatRanInIt) {
  Timeline t;
  t.add(0, with_gaps({0, 40, Phase::backward, 0, 0, 0}, {{0, 12}, {18, 25}, {30, 40}}));
  t.add(1, with_gaps({0, 40, Phase::reduce, 0, 0, 0}, {{0, 8}, {22, 40}}));
  StepTimes step;
  step.begin_ns = 10, step.step_ns = 10;
  const Timeline picture = within(t, step);
  ASSERT_EQ(picture.lane(0).size(), 1u);
  EXPECT_EQ(picture.lane(0)[0].busy, (std::vector<Stretch>{{10, 12}, {18, 20}}));
  EXPECT_TRUE(picture.lane(1).empty());
}

TEST(Breakdown, TheStepThatStandsForAllIsTheLowerMedianOfWholeSteps) {
  const std::vector<std::int64_t> ns = {40, 10, 30, 20};
  EXPECT_EQ(lower_median(ns, {false, false, false, false}), 3u);
  EXPECT_EQ(lower_median(ns, {false, true, false, true}), 2u);
  EXPECT_EQ(lower_median(ns, {true, true, true, true}), 3u);
  EXPECT_EQ(lower_median({7, 7, 7}, {false, false, false}), 1u);
}

}  // namespace
}  // namespace shardmark
