// Do all strategies train the same model, for the bytes and calls that they claim? Over the
// registry, on thread ranks: every strategy here is held against ddp, and ddp against one rank that
// sees the whole batch.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "impl/strategies/against_claim.hpp"
#include "impl/strategies/every_strategy.hpp"
#include "impl/train.hpp"

namespace shardmark {
namespace {

Training tiny(const std::string& model, const std::string& strategy, int ranks) {
  Training t;
  t.model = model, t.strategy = strategy, t.ranks = ranks, t.device = test_device;
  t.batch = 2, t.sequence = 6, t.warmup = 1, t.steps = 3;
  t.options.bucket_elements = 600, t.options.clip = 0.5, t.options.adam.lr = 0.01f;
  t.corpus = some_text(), t.keep_parameters = true, t.comm_timeout_s = 20;
  return t;
}

// Heads of an odd size; and layers with fewer elements than ranks.
const char* const gpt = "gpt:layers=2,width=10,heads=2";
const char* const narrow = "mlp:layers=3,width=1";

// What every strategy is held against, trained once.
const TrainingReport& ddp_of(const std::string& model, int ranks) {
  static std::map<std::pair<std::string, int>, TrainingReport> known;
  const auto [it, is_new] = known.try_emplace({model, ranks});
  if (is_new) it->second = train(tiny(model, "ddp", ranks));
  return it->second;
}

class Conformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (on_gpu && !cuda::why_none().empty()) GTEST_SKIP() << cuda::why_none();
  }
};

void expect_same(const TrainingReport& a, const TrainingReport& b, const std::string& what) {
  for (std::size_t r = 0; r < b.ranks.size(); ++r) {
    EXPECT_EQ(a.ranks[0].parameters, b.ranks[r].parameters) << what << ", rank " << r;
    EXPECT_EQ(a.ranks[0].parameter_hash, b.ranks[r].parameter_hash) << what << ", rank " << r;
    EXPECT_EQ(a.ranks[r].loss, b.ranks[r].loss) << what << ", rank " << r;
    // The same on every rank; between strategies squares may be added in the order of other
    // segments.
    EXPECT_EQ(b.ranks[0].norm_before, b.ranks[r].norm_before) << what << ", rank " << r;
    ASSERT_EQ(a.ranks[0].norm_before.size(), b.ranks[r].norm_before.size()) << what;
    for (std::size_t i = 0; i < a.ranks[0].norm_before.size(); ++i)
      EXPECT_NEAR(b.ranks[r].norm_before[i] / a.ranks[0].norm_before[i], 1, 1e-13)
          << what << ", step " << i;
  }
}

TEST_P(Conformance, EqualsDdpBitForBitAndItsOwnClaim) {
  for (const char* model : {gpt, narrow})
    for (int ranks : all_ranks()) {
      const TrainingReport& ddp = ddp_of(model, ranks);
      for (bool overlap : {false, true}) {
        Training t = tiny(model, GetParam(), ranks);
        t.overlap = overlap;
        const TrainingReport r = train(t);
        expect_same(ddp, r,
                    fmt::format("{} {} N={} overlap {}", model, t.strategy, ranks, overlap));
        EXPECT_EQ(against_claim(t, r), "");
      }
    }
}

// A ring, and NCCL, add in another order, which depends on how segments are cut: so parameters
// agree to the rounding of a few steps, on one rank as on the other bit for bit, with overlap as
// without.
TEST_P(Conformance, WithSumsInAnotherOrderItIsDdpUpToRounding) {
  for (const char* model : {gpt, narrow})
    for (int ranks : all_ranks()) {
      const TrainingReport& ddp = ddp_of(model, ranks);
      std::vector<float> first;
      for (bool overlap : {false, true}) {
        Training t = tiny(model, GetParam(), ranks);
        t.options.collectives = in_another_order;
        if (!has_devices_for(t)) continue;
        if (ranks == 3 && !on_gpu) t.link = Link{1, 10'000};
        t.overlap = overlap;
        const TrainingReport r = train(t);
        EXPECT_EQ(against_claim(t, r), "");
        const std::vector<float>& parameters = r.ranks[0].parameters;
        if (!overlap) first = parameters;
        EXPECT_EQ(parameters, first);
        for (const RankReport& rank : r.ranks) {
          EXPECT_EQ(rank.parameters, parameters);
          std::uint64_t volume = 0;
          for (const TrafficLedger& step : rank.traffic_by_step)
            for (const auto& [what, traffic] : step) volume += traffic.volume;
          if (!on_gpu) {
            EXPECT_EQ(rank.moved_bytes, volume);  // NCCL does not say
          }
        }
        ASSERT_EQ(parameters.size(), ddp.ranks[0].parameters.size());
        double difference = 0, size = 0;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
          difference += std::pow(parameters[i] - ddp.ranks[0].parameters[i], 2);
          size += std::pow(ddp.ranks[0].parameters[i], 2);
        }
        EXPECT_LT(std::sqrt(difference / size), 1e-4) << t.strategy << " N=" << ranks;
      }
    }
}

TEST_P(Conformance, IsTheSameForEveryBucketSizeAndWithoutClipping) {
  Training t = tiny(gpt, GetParam(), 3);
  t.options.clip = 0;
  const TrainingReport first = train(t);
  EXPECT_TRUE(first.ranks[0].norm_before.empty());
  for (std::size_t bucket :
       {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{1'000'000}})
    for (int buckets : {1, 3}) {
      t.options.bucket_elements = bucket, t.options.buckets = buckets;
      const TrainingReport r = train(t);
      expect_same(first, r, fmt::format("{} bucket {}", t.strategy, bucket));
      EXPECT_EQ(against_claim(t, r), "");
    }
}

TEST_P(Conformance, AddsMicroStepsAndLosesNone) {
  const std::string strategy = GetParam();
  const bool every_micro_step = strategy.starts_with("zero2") || strategy == "zero3";
  Training same = tiny(gpt, every_micro_step ? "zero2" : "ddp", 3);
  Training t = tiny(gpt, strategy, 3);
  same.options.accumulate = t.options.accumulate = 2;
  const TrainingReport r = train(t);
  expect_same(train(same), r, strategy + " k=2");
  EXPECT_EQ(against_claim(t, r), "");
  // The same samples in one batch of twice the size: micro-step m of rank r is sample 2 (3 m + r)
  // and the next.
  Training one = tiny(gpt, "ddp", 1);
  one.batch = 12;
  const TrainingReport whole = train(one);
  for (std::size_t step = 0; step < 4; ++step) {
    double loss = 0;
    for (const RankReport& rank : r.ranks) loss += rank.loss[step] / 3;
    EXPECT_NEAR(loss, whole.ranks[0].loss[step], 2e-5) << strategy;
    EXPECT_NEAR(r.ranks[0].norm_before[step], whole.ranks[0].norm_before[step], 2e-5) << strategy;
  }
}

TEST_P(Conformance, EveryOptionGivesTheSameBits) {
  for (bool frozen : {false, true}) {
    Training t = tiny(gpt, "ddp", 3);
    if (frozen)
      for (std::size_t p = 0; p < 28; ++p) t.options.frozen.push_back(p % 3 == 0);
    const TrainingReport ddp = train(t);
    t.strategy = GetParam();
    for (int prefetch : {0, 1, 3})
      for (bool keep : {false, true})
        for (std::size_t persist : {std::size_t{0}, std::size_t{30}}) {
          t.options.prefetch = prefetch, t.options.keep_last = keep,
          t.options.persist_below = persist;
          const TrainingReport r = train(t);
          expect_same(ddp, r,
                      fmt::format("{} prefetch {} keep {} persist {}", t.strategy, prefetch, keep,
                                  persist));
          EXPECT_EQ(against_claim(t, r), "");
        }
  }
}

TEST_P(Conformance, EqualsOneRankThatSeesTheWholeBatch) {
  for (const char* model : {gpt, narrow})
    for (int ranks : {2, 5, 8}) {
      Training one = tiny(model, "ddp", 1);
      one.batch = 2 * static_cast<std::size_t>(ranks);
      const TrainingReport whole = train(one), r = train(tiny(model, GetParam(), ranks));
      for (std::size_t step = 0; step < 4; ++step) {
        double loss = 0;
        for (const RankReport& rank : r.ranks) loss += rank.loss[step] / ranks;
        EXPECT_NEAR(loss, whole.ranks[0].loss[step], 2e-5) << model << " N=" << ranks;
        // Before clipping: a sum where a mean was meant would be N times too large, and Adam would
        // hide it.
        EXPECT_NEAR(r.ranks[0].norm_before[step], whole.ranks[0].norm_before[step], 2e-5)
            << model << " N=" << ranks;
        EXPECT_LE(r.ranks[0].norm_after[step], 0.5);
      }
    }
}

// The stand-in's streams always do.
TEST_P(Conformance, IsTheSameOnQueuesThatRunLate) {
  const TrainingReport ddp = train(tiny(gpt, "ddp", 3));
  for (bool overlap : {false, true}) {
    Training t = tiny(gpt, GetParam(), 3);
    t.overlap = overlap, t.late_us = 300;
    const TrainingReport r = train(t);
    expect_same(ddp, r, fmt::format("{} late, overlap {}", t.strategy, overlap));
    EXPECT_EQ(against_claim(t, r), "");
  }
}

TEST_P(Conformance, TheDirectAllReduceGivesTheSameBits) {
  if (on_gpu) GTEST_SKIP() << "the direct all-reduce is of the processor's memory";
  Training t = tiny(gpt, GetParam(), 4);
  const TrainingReport composed = train(t);
  t.options.all_reduce = Options::AllReduce::direct;
  expect_same(composed, train(t), t.strategy);
}

TEST_P(Conformance, WhatTheTransportSawLeaveIsTheVolume) {
  if (on_gpu) GTEST_SKIP() << "nobody sees what streams move";
  const TrainingReport r = train(tiny(gpt, GetParam(), 4));
  std::uint64_t volume = 0, moved = 0;  // over ranks: a scalar is not cut evenly
  for (const RankReport& rank : r.ranks) {
    moved += rank.moved_bytes;
    for (const TrafficLedger& step : rank.traffic_by_step)
      for (const auto& [what, traffic] : step) volume += traffic.volume;
  }
  EXPECT_EQ(moved, volume);
}

TEST_P(Conformance, TheLossFalls) {
  Training t = tiny("gpt:layers=2,width=16,heads=2", GetParam(), 2);
  t.steps = 60, t.options.adam.lr = 0.01f;
  for (std::size_t i = 0; i < t.corpus.size(); ++i)  // each byte tells the next
    t.corpus[i] = static_cast<std::uint8_t>(i % 13 * 5);
  const RankReport r = train(t).ranks[0];
  EXPECT_NEAR(r.loss.front(), std::log(256.0), 0.1);  // untrained: every byte as likely as another
  EXPECT_LT(r.loss.back(), r.loss.front() / 2);
}

// Each device adds up rows in an order of its own: to the rounding of a few steps of Adam.
TEST_P(Conformance, OnAGpuItIsTheProcessorsTrainingUpToRounding) {
  if (!on_gpu) GTEST_SKIP() << "built for the processor";
  for (const char* model : {gpt, narrow}) {
    Training t = tiny(model, GetParam(), 3);
    const TrainingReport gpu = train(t);
    t.device = DeviceKind::cpu;
    const TrainingReport cpu = train(t);
    for (std::size_t step = 0; step < 4; ++step) {
      EXPECT_NEAR(gpu.ranks[0].loss[step], cpu.ranks[0].loss[step], 2e-5) << model;
      EXPECT_NEAR(gpu.ranks[0].norm_before[step], cpu.ranks[0].norm_before[step], 2e-5) << model;
    }
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < cpu.ranks[0].parameters.size(); ++i) {
      difference += std::pow(gpu.ranks[0].parameters[i] - cpu.ranks[0].parameters[i], 2);
      size += std::pow(cpu.ranks[0].parameters[i], 2);
    }
    EXPECT_LT(std::sqrt(difference / size), 1e-4) << model;
  }
}

INSTANTIATE_TEST_SUITE_P(AllStrategies, Conformance, testing::ValuesIn(every_strategy()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace shardmark
