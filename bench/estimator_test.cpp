// Are DeepSpeed's estimators those of its documentation, and do the terms add up?
#include "bench/estimator.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace shardmark {
namespace {

// To two decimals and in GiB, as their table prints them.
double printed(double bytes) { return std::round(bytes / 1073741824.0 * 100) / 100; }

constexpr double p = 2851e6, largest = 32e6;  // of T5-3B, on 8 GPUs of one node
constexpr EstimatedNodes node{8, 1};

TEST(Estimator, StageThreePrintsTheTableOfDeepSpeedsDocumentation) {
  struct Row {
    bool parameters, optimizer, zero_init;
    double cpu, gpu;
  };
  for (const Row& r :
       {Row{true, true, true, 71.69, 0.12}, Row{true, true, false, 127.45, 0.12},
        Row{false, true, true, 63.72, 0.78}, Row{false, true, false, 127.45, 0.78},
        Row{false, false, true, 1.43, 6.09}, Row{false, false, false, 127.45, 6.09}}) {
    const DeepSpeedEstimate e =
        deepspeed_zero3(p, largest, node, {r.optimizer, r.parameters, r.zero_init});
    EXPECT_DOUBLE_EQ(printed(e.gpu_bytes), r.gpu);
    EXPECT_DOUBLE_EQ(printed(e.cpu_bytes), r.cpu);
  }
  EXPECT_THROW(deepspeed_zero3(p, largest, node, {false, true}), std::exception);
}

TEST(Estimator, StageTwoPrintsItToo) {
  const DeepSpeedEstimate offloaded = deepspeed_zero2(p, node, {true});
  EXPECT_DOUBLE_EQ(printed(offloaded.gpu_bytes), 5.31);
  EXPECT_DOUBLE_EQ(printed(offloaded.cpu_bytes), 127.45);
  // 2 x 2851e6 + 18 x 2851e6 / 8; the documentation's 15.93 GiB are 4P + 16P/N of an older version.
  EXPECT_EQ(deepspeed_zero2(p, node).gpu_bytes, 12'116'750'000.0);
  EXPECT_DOUBLE_EQ(printed(4 * p + 16 * p / 8), 15.93);
}

TEST(Estimator, WholeBytesAsPythonsInt) {
  // 18 x 7 / 4 = 31.5, cut to 31.
  EXPECT_EQ(deepspeed_zero2(7, {4, 1}).gpu_bytes, 14 + 31);
  EXPECT_EQ(deepspeed_zero3(7, 2, {2, 2}).gpu_bytes, 8 + 31);
  // max(4 x 16 GPUs, 16) x 1.5; a node's share of 18P x 1.5 on two nodes.
  EXPECT_EQ(deepspeed_zero2(7, {8, 2}, {true}).cpu_bytes, 7 * 64 * 1.5);
  EXPECT_EQ(deepspeed_zero3(8, 2, {8, 2}, {true, true}).cpu_bytes, 8 * 9 * 1.5);
}

}  // namespace
}  // namespace shardmark
