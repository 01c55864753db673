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

TEST(Breakdown, TheStepThatStandsForAllIsTheLowerMedianOfWholeSteps) {
  const std::vector<std::int64_t> ns = {40, 10, 30, 20};
  EXPECT_EQ(lower_median(ns, {false, false, false, false}), 3u);
  EXPECT_EQ(lower_median(ns, {false, true, false, true}), 2u);
  EXPECT_EQ(lower_median(ns, {true, true, true, true}), 3u);
  EXPECT_EQ(lower_median({7, 7, 7}, {false, false, false}), 1u);
}

}  // namespace
}  // namespace shardmark
