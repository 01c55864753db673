// Do all strategies train the same model in 2-byte types too? Held against ddp bit for bit, weights
// and the f32 weights behind them; and against fp32, which they must follow.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "impl/strategies/against_claim.hpp"
#include "impl/strategies/every_strategy.hpp"

namespace shardmark {
namespace {

Training tiny(const std::string& strategy, int ranks, DType type, DType wire) {
  Training t;
  t.model = "gpt:layers=2,width=16,heads=2", t.strategy = strategy, t.ranks = ranks;
  t.device = test_device;
  t.batch = 2, t.sequence = 8, t.warmup = 1, t.steps = 3;
  t.options.precision = precision_in(type, wire);
  t.options.bucket_elements = 600, t.options.clip = 0.5, t.options.adam.lr = 0.01f;
  t.corpus = some_text();
  t.keep_parameters = true, t.comm_timeout_s = 20;
  return t;
}

void expect_same(const TrainingReport& a, const TrainingReport& b, const std::string& what) {
  for (std::size_t r = 0; r < b.ranks.size(); ++r) {
    EXPECT_EQ(b.ranks[0].parameters, b.ranks[r].parameters) << what << ", rank " << r;
    EXPECT_EQ(b.ranks[0].masters, b.ranks[r].masters) << what << ", rank " << r;
    EXPECT_EQ(a.ranks[0].parameters, b.ranks[r].parameters) << what << ", rank " << r;
    EXPECT_EQ(a.ranks[0].masters, b.ranks[r].masters) << what << ", rank " << r;
    EXPECT_EQ(a.ranks[r].loss, b.ranks[r].loss) << what << ", rank " << r;
    EXPECT_EQ(a.ranks[0].loss_scale, b.ranks[r].loss_scale) << what << ", rank " << r;
  }
}

// On stand-ins for GPUs, whose tensor cores take long, each type once and each wire.
const std::vector<std::pair<DType, DType>> types =
    on_gpu
        ? std::vector<std::pair<DType, DType>>{{DType::bf16, DType::bf16}, {DType::f16, DType::f32}}
        : std::vector<std::pair<DType, DType>>{{DType::bf16, DType::bf16},
                                               {DType::bf16, DType::f32},
                                               {DType::f16, DType::f16},
                                               {DType::f16, DType::f32}};
const std::vector<int> some_ranks = on_gpu ? std::vector<int>{3} : all_ranks();

// What every strategy is held against, trained once.
const TrainingReport& ddp_of(int ranks, DType type, DType wire) {
  static std::map<std::tuple<int, DType, DType>, TrainingReport> known;
  const auto [it, is_new] = known.try_emplace({ranks, type, wire});
  if (is_new) it->second = train(tiny("ddp", ranks, type, wire));
  return it->second;
}

Training in_micro_steps(const std::string& strategy, DType type, DType wire, Recompute recompute) {
  Training t = tiny(strategy, 3, type, wire);
  t.options.accumulate = 2, t.options.recompute = recompute;
  return t;
}
// Those that reduce in every micro-step add in another order.
const TrainingReport& micro_steps_of(const std::string& strategy, DType type, DType wire) {
  static std::map<std::tuple<std::string, DType, DType>, TrainingReport> known;
  const auto [it, is_new] = known.try_emplace({strategy, type, wire});
  if (is_new) it->second = train(in_micro_steps(strategy, type, wire, Recompute::none));
  return it->second;
}

class TwoBytes : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (on_gpu && !cuda::why_none().empty()) GTEST_SKIP() << cuda::why_none();
  }
};

TEST_P(TwoBytes, EveryStrategyGivesDdpsBits) {
  for (const auto& [type, wire] : types)
    for (const int ranks : some_ranks) {
      const TrainingReport& ddp = ddp_of(ranks, type, wire);
      ASSERT_EQ(ddp.ranks[0].masters.size(), ddp.ranks[0].parameters.size());
      for (const bool overlap : {false, true}) {
        Training t = tiny(GetParam(), ranks, type, wire);
        t.overlap = overlap;
        const TrainingReport r = train(t);
        expect_same(
            ddp, r,
            fmt::format("{} in {} N={} overlap {}", t.strategy, name(type), ranks, overlap));
        EXPECT_EQ(against_claim(t, r), "");
      }
    }
}

TEST_P(TwoBytes, MicroStepsAddUpAlikeAndRecomputingChangesNothing) {
  const bool every_micro_step = GetParam().starts_with("zero2") || GetParam() == "zero3";
  for (const auto& [type, wire] : types)
    for (const Recompute recompute : {Recompute::none, Recompute::unit}) {
      const char* const like = every_micro_step ? "zero2" : "ddp";
      expect_same(micro_steps_of(like, type, wire),
                  train(in_micro_steps(GetParam(), type, wire, recompute)),
                  fmt::format("{} in {} k=2", GetParam(), name(type)));
    }
}

TEST_P(TwoBytes, EveryBucketSizeGivesTheSameBits) {
  for (const auto& [type, wire] : types) {
    Training t = tiny(GetParam(), 3, type, wire);
    t.options.clip = 0;  // a norm is added up by segments
    const TrainingReport first = train(t);
    for (const std::size_t bucket : {std::size_t{0}, std::size_t{1}, std::size_t{1'000'000}}) {
      t.options.bucket_elements = bucket;
      const TrainingReport r = train(t);
      expect_same(first, r, fmt::format("{} bucket {}", t.strategy, bucket));
      EXPECT_EQ(against_claim(t, r), "");
    }
  }
}

// Sums of 2-byte numbers are rounded at every hop of a ring, and another time where one rank has
// the whole batch: near each other, and the same on every rank.
TEST_P(TwoBytes, WithSumsInAnotherOrderOrOnOneRankItIsTheSameUpToRounding) {
  for (const auto& [type, wire] : types) {
    const TrainingReport memory = train(tiny(GetParam(), 4, type, wire));
    Training ring = tiny(GetParam(), 4, type, wire), one = tiny("ddp", 1, type, wire);
    ring.options.collectives = in_another_order;
    one.batch = 8;
    if (!has_devices_for(ring)) GTEST_SKIP() << "four GPUs are not here";
    const TrainingReport r = train(ring), whole = train(one);
    EXPECT_EQ(against_claim(ring, r), "");
    for (std::size_t step = 0; step < memory.ranks[0].loss.size(); ++step) {
      double loss = 0;
      for (std::size_t rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(r.ranks[rank].masters, r.ranks[0].masters);
        EXPECT_NEAR(r.ranks[rank].loss[step] / memory.ranks[rank].loss[step], 1, 5e-3);
        loss += memory.ranks[rank].loss[step] / 4;
      }
      EXPECT_NEAR(loss / whole.ranks[0].loss[step], 1, 2e-3) << name(type) << step;
      EXPECT_NEAR(memory.ranks[0].norm_before[step] / whole.ranks[0].norm_before[step], 1, 2e-2);
      EXPECT_NEAR(memory.ranks[0].norm_before[step] / r.ranks[0].norm_before[step], 1, 2e-2);
    }
  }
}

// A weight is its master, rounded; and the loss follows that of fp32.
TEST_P(TwoBytes, FollowFp32) {
  const TrainingReport fp32 = train(tiny(GetParam(), 2, DType::f32, DType::f32));
  EXPECT_TRUE(fp32.ranks[0].masters.empty());
  for (const auto& [type, wire] : types) {
    const RankReport r = train(tiny(GetParam(), 2, type, wire)).ranks[0];
    const float half_a_place = type == DType::bf16 ? 0x1p-8f : 0x1p-11f;
    for (std::size_t i = 0; i < r.parameters.size(); ++i)
      ASSERT_NEAR(r.parameters[i], r.masters[i], std::abs(r.masters[i]) * half_a_place + 3e-8f);
    for (std::size_t step = 0; step < r.loss.size(); ++step) {
      EXPECT_NEAR(r.loss[step] / fp32.ranks[0].loss[step], 1, 0.01) << name(type) << step;
      EXPECT_NEAR(r.norm_before[step] / fp32.ranks[0].norm_before[step], 1, 0.05) << name(type);
    }
  }
}

// 2^24 times the gradients of this model do not fit f16: the scale falls by half until they do.
TEST_P(TwoBytes, AScaleThatIsTooLargeFallsUntilGradientsFit) {
  Training t = tiny(GetParam(), 2, DType::f16, DType::f16);
  t.steps = 14;
  t.options.precision.loss_scaling = LossScaling{0x1p24f, 1, 2000};
  const RankReport r = train(t).ranks[0];
  EXPECT_GT(r.skipped_steps, 2);
  EXPECT_LT(r.skipped_steps, 13);
  ASSERT_EQ(r.loss_scale.size(), r.loss.size());
  for (std::size_t i = 0; i + 1 < r.loss_scale.size(); ++i)
    EXPECT_EQ(r.loss_scale[i + 1],
              std::isfinite(r.norm_before[i]) ? r.loss_scale[i] : r.loss_scale[i] / 2);
  EXPECT_LT(r.loss.back(), r.loss.front());
  t.options.precision.loss_scaling->floor = 0x1p23f;
  try {
    train(t);
    ADD_FAILURE() << "trained on";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("the loss scale is at its floor, 8388608"),
              std::string::npos)
        << e.what();
  }
}

INSTANTIATE_TEST_SUITE_P(AllStrategies, TwoBytes, testing::ValuesIn(every_strategy()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace shardmark
