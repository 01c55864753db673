// Is the picture of a step on one clock, and does "steady" say what every measured step did?
#include "bench/measured_steps.hpp"

#include <gtest/gtest.h>

namespace shardmark {
namespace {

using nlohmann::json;

constexpr Collective gradients{Verb::reduce_scatter, DType::bf16, 100};

Training training() {
  Training t;
  t.ranks = 2, t.warmup = 1, t.steps = 3;
  return t;
}

// Both ranks compute once and reduce once a step; rank 1 begins 5 ns later.
TrainingReport report() {
  TrainingReport r;
  r.ranks.resize(2);
  for (std::int64_t rank : {0, 1}) {
    RankReport& of = r.ranks[static_cast<std::size_t>(rank)];
    of.steps.resize(4);
    of.steps[2].begin_ns = 1000 + 5 * rank;
    of.steps[2].step_ns = 60 + rank;
    of.allocations_by_step = {9, 3, 3, 3};
    of.spans_by_step.assign(3,
                            {{0, Phase::forward, 2, {}, 1}, {1, Phase::reduce, 0, gradients, 4}});
    of.timeline.add(0, {1000 + 5 * rank, 1020, Phase::forward, 2, 2, 0});
    of.timeline.add(1, {1030, 1050, Phase::reduce, 0, 2, 3, -1, {}, gradients});
  }
  return r;
}

TEST(MeasuredSteps, ThePictureIsOnOneClockOrEachRanksOwn) {
  TrainingReport r = report();
  json t = timeline_section(r, {2, 1});
  EXPECT_EQ(t["step"], 2);
  EXPECT_EQ(t["step_ns"], 61);
  EXPECT_EQ(t["ranks"][0]["compute"]["begin_ns"], json::array({0}));
  EXPECT_EQ(t["ranks"][1]["compute"]["begin_ns"], json::array({5}));
  EXPECT_EQ(t["ranks"][1]["compute"]["label"], json::array({2}));
  EXPECT_EQ(t["ranks"][1]["compute"]["verb"], json::array({nullptr}));
  EXPECT_EQ(t["ranks"][1]["communication"]["end_ns"], json::array({50}));
  EXPECT_EQ(t["ranks"][1]["communication"]["skew_ns"], json::array({3}));
  EXPECT_EQ(t["ranks"][1]["communication"]["verb"], json::array({"reduce_scatter"}));
  EXPECT_EQ(t["ranks"][1]["communication"]["payload_bytes"], json::array({200}));
  r.clocks_comparable = false;
  t = timeline_section(r, {2, 1});
  EXPECT_EQ(t["ranks"][1]["compute"]["begin_ns"], json::array({0}));
  EXPECT_EQ(t["ranks"][1]["communication"]["skew_ns"], json::array({nullptr}));
}

TEST(MeasuredSteps, SteadyIsTheSumOverRanksWithoutWarmUp) {
  const json s = steady_section(training(), report());
  EXPECT_EQ(s["allocations"], 6);
  ASSERT_EQ(s["spans"].size(), 2u);
  EXPECT_EQ(s["spans"][0],
            (json{{"queue", "compute"}, {"phase", "forward"}, {"label", 2}, {"count", 2}}));
  EXPECT_EQ(s["spans"][1], (json{{"queue", "communication"},
                                 {"phase", "reduce"},
                                 {"label", 0},
                                 {"count", 8},
                                 {"verb", "reduce_scatter"},
                                 {"dtype", "bf16"},
                                 {"payload_bytes", 200}}));
}

TEST(MeasuredSteps, WhatOneStepOfOneRankDidOtherwiseIsNamed) {
  TrainingReport r = report();
  r.ranks[1].allocations_by_step[3] = 4;
  r.ranks[1].spans_by_step[1].pop_back();
  json s = steady_section(training(), r);
  EXPECT_TRUE(s["allocations"].is_null());
  EXPECT_EQ(s["allocations_reason"], "step 3 did something else than step 1");
  EXPECT_TRUE(s["spans"].is_null());
  EXPECT_EQ(s["spans_reason"], "step 2 did something else than step 1");
  // A skipped step does less: it is no such step.
  for (RankReport& rank : r.ranks) rank.norm_before = {1, 1, 0.0 / 0.0, 0.0 / 0.0};
  r.ranks[1].spans_by_step[0].pop_back();
  s = steady_section(training(), r);
  EXPECT_EQ(s["allocations"], 6);
  EXPECT_EQ(s["spans"].size(), 2u);
  EXPECT_EQ(s["spans"][1]["count"], 4);
}

TEST(MeasuredSteps, WhatWasNotRecordedIsMissing) {
  TrainingReport r = report();
  for (RankReport& rank : r.ranks) rank.spans_by_step.clear();
  EXPECT_EQ(steady_section(training(), r)["spans_reason"], "the steps were not recorded");
}

}  // namespace
}  // namespace shardmark
