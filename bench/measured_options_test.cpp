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

// Who makes the sums decides where they are rounded, and where the mean is taken.
TEST(measured_options, says_how_gradients_are_summed) {
  Training t = training();
  t.options.precision = precision_in(DType::bf16, DType::bf16);
  const auto reduction = [&](Collectives by) {
    t.options.collectives = by;
    return sections_of(t, report())["traffic"]["reduction"];
  };
  EXPECT_EQ(reduction(Collectives::memory),
            (json{{"dtype", "bf16"},
                  {"accumulates_in", "f32, over all ranks in rank order"},
                  {"mean_applied", "to the sum, before its one rounding"}}));
  EXPECT_EQ(reduction(Collectives::ring)["mean_applied"], "at the last hop, before its rounding");
  EXPECT_EQ(reduction(Collectives::library)["mean_applied"],
            "to the library's sum, behind its rounding");
  t.options.precision.wire = DType::f32;
  EXPECT_EQ(reduction(Collectives::ring)["dtype"], "f32");
}

}  // namespace
}  // namespace shardmark
