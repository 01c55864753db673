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
