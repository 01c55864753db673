// Does a record say what loss scaling did, and how gradients were summed?
#include <gtest/gtest.h>

#include <limits>

#include "bench/measured.hpp"

namespace shardmark {
namespace {

using nlohmann::json;

Training training() {
  Training t;
  t.warmup = 2, t.steps = 4;
  t.options.clip = 1;
  return t;
}

TrainingReport report() {
  TrainingReport r;
  RankReport& rank = r.ranks.emplace_back();
  rank.steps.resize(6);
  rank.loss = {4, 3, 2, 2, 2, 2};
  rank.norm_before = rank.norm_after = {5, 5, 5, 5, 5, 5};
  rank.traffic_by_step.resize(6);
  return r;
}

TEST(measured_options, skipped_steps_have_their_numbers_and_scales) {
  TrainingReport r = report();
  EXPECT_EQ(sections_of(training(), r)["training"]["skipped_at"], json::array());
  RankReport& rank = r.ranks[0];
  rank.norm_before[0] = rank.norm_before[3] = std::numeric_limits<double>::infinity();
  rank.skipped_steps = 2;
  rank.loss_scale = {8, 4, 4, 4, 2, 2};
  const json s = sections_of(training(), r)["training"];
  EXPECT_EQ(s["skipped_steps"], 2);
  EXPECT_EQ(s["skipped_at"], (json{0, 3}));
  EXPECT_EQ(s["loss_scale"], (json{8.0, 4.0, 4.0, 4.0, 2.0, 2.0}));
  EXPECT_EQ(s["norm_before"], (json{nullptr, 5.0, 5.0, nullptr, 5.0, 5.0}));
}

// The steps that were made take 20 to 40; the skipped ones, which would shift the median, less.
TEST(measured_options, skipped_steps_are_in_no_median) {
  TrainingReport r = report();
  RankReport& rank = r.ranks[0];
  for (std::size_t i = 0; i < 6; ++i) rank.steps[i].step_ns = 1;
  rank.steps[3].step_ns = 40, rank.steps[4].step_ns = 30, rank.steps[5].step_ns = 20;
  rank.norm_before[2] = std::numeric_limits<double>::quiet_NaN();
  json s = sections_of(training(), r);
  EXPECT_EQ(s["time"]["median"]["step_ns"], 30);
  EXPECT_EQ(s["time"]["step_ns"], (json{1, 40, 30, 20}));
  EXPECT_EQ(s["checks"]["trained"], true);
  rank.norm_before.assign(6, std::numeric_limits<double>::infinity());
  s = sections_of(training(), r);
  EXPECT_EQ(s["time"]["median"]["step_ns"], 20);
  EXPECT_EQ(s["checks"]["trained"], false);
  EXPECT_EQ(s["checks"]["trained_reason"],
            "all 4 measured steps were skipped, since their gradients were not finite");
}

// 45 of products in 20 of forward and 40 of backward, whatever was computed again.
TEST(measured_options, recomputing_is_no_part_of_the_products_rate) {
  TrainingReport r = report();
  for (StepTimes& s : r.ranks[0].steps) {
    s.step_ns = 160;
    s.phase_ns[static_cast<std::size_t>(Phase::forward)] = 20;
    s.phase_ns[static_cast<std::size_t>(Phase::recompute)] = 100;
    s.phase_ns[static_cast<std::size_t>(Phase::backward)] = 40;
  }
  r.ranks[0].products_ns = 45;
  EXPECT_DOUBLE_EQ(sections_of(training(), r)["rates"]["matrix_share"], 45.0 / 60);
}

// Who makes the sums decides where they are rounded, and where the mean is taken.
TEST(measured_options, says_how_gradients_are_summed) {
  Training t = training();
  t.options.precision = precision_in(DType::bf16, DType::bf16);
  const auto reduction = [&](Collectives by) {
    t.options.collectives = by;
    return sections_of(t, report())["traffic"]["reduction"];
  };
  json r = reduction(Collectives::memory);
  EXPECT_EQ(r["dtype"], "bf16");
  EXPECT_EQ(r["accumulates_in"], "fp32, over all ranks in rank order, rounded to bf16 once");
  EXPECT_EQ(r["mean_applied"], "to the fp32 sum, before its rounding");
  EXPECT_EQ(r["kept_in"], "bf16");
  EXPECT_EQ(r["micro_steps_reason"], "a step is one micro-step");
  r = reduction(Collectives::ring);
  EXPECT_EQ(r["accumulates_in"], "fp32 at each hop, rounded to bf16 at each hop");
  EXPECT_EQ(r["mean_applied"], "at the last hop, before its rounding");
  r = reduction(Collectives::library);
  EXPECT_EQ(r["accumulates_in"],
            "fp32 at each addition, in the MPI library's order, rounded to bf16 at each addition");
  EXPECT_EQ(r["mean_applied"], "to the library's sum, behind its rounding");
  t.options.precision.wire = DType::f32;
  r = reduction(Collectives::ring);
  EXPECT_EQ(r["dtype"], "fp32");
  EXPECT_EQ(r["accumulates_in"], "fp32 at each hop");
  EXPECT_EQ(r["kept_in"], "bf16");
}

TEST(measured_options, says_where_the_mean_is_taken_and_micro_steps_add_up) {
  Training t = training();
  t.options.precision = precision_in(DType::f16, DType::f16);
  t.options.accumulate = 2;
  const auto reduction = [&](const char* strategy, Collectives by) {
    t.strategy = strategy, t.options.collectives = by;
    TrainingReport r = report();
    r.ranks[0].loss_scale = {8, 8, 8, 8, 8, 8};
    return sections_of(t, r)["traffic"]["reduction"];
  };
  for (const auto by : {Collectives::ring, Collectives::library})
    EXPECT_EQ(reduction("ddp", by)["mean_applied"],
              "to each rank's own gradient, rounded to fp16, before it travels");
  for (const char* strategy : {"ddp", "zero1", "zero1_naive"})
    EXPECT_EQ(reduction(strategy, Collectives::memory)["micro_steps"],
              "added in fp16 in the whole gradient, which is then reduced");
  for (const char* strategy : {"zero2", "zero3", "zero2_naive"})
    EXPECT_EQ(reduction(strategy, Collectives::memory)["micro_steps"],
              "each one reduced, and its mean added to the gradient in fp16");
  EXPECT_TRUE(reduction("mine", Collectives::memory)["micro_steps"].is_null());
}

}  // namespace
}  // namespace shardmark
