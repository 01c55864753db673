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

TEST(Estimator, TextbookIsThatOfThePaper) {
  const auto sum = [](int stage, std::int64_t n) {
    const ClaimedStates s = textbook_states(stage, 1e9, n);
    return s.parameter + s.gradient + s.master + s.moments;
  };
  // ZeRO paper, figure 1, with psi = 1e9 and N = 8: 16, 4 + 12/8, 2 + 14/8, 16/8.
  EXPECT_EQ(sum(0, 8), 16e9);
  EXPECT_EQ(sum(1, 8), 5.5e9);
  EXPECT_EQ(sum(2, 8), 3.75e9);
  EXPECT_EQ(sum(3, 8), 2e9);
}

double difference(const std::vector<EstimatorTerm>& terms) {
  double total = 0;
  for (std::size_t i = 0; i + 1 < terms.size(); ++i)
    total += terms[i].deepspeed_bytes - terms[i].our_bytes;
  return total;
}

TEST(Estimator, TheTermsSayTheWholeDifference) {
  const auto two = estimator_terms(2, 1e9, 1e7, 8, textbook_states(2, 1e9, 8));
  EXPECT_EQ(two.back().deepspeed_bytes, 4.25e9);  // 2 + 18/8
  EXPECT_EQ(two.back().our_bytes, 3.75e9);        // 2 + 14/8
  EXPECT_EQ(difference(two), 0.5e9);              // 4P/N
  const auto three = estimator_terms(3, 1e9, 1e7, 8, textbook_states(3, 1e9, 8));
  EXPECT_EQ(three.back().deepspeed_bytes, 4e7 + 2.25e9);
  EXPECT_EQ(three.back().our_bytes, 2e9);
  EXPECT_EQ(difference(three), 4e7 + 0.25e9);  // the layer, 4P/N more, 2P/N less
  for (const auto& terms : {two, three})
    for (std::size_t i = 0; i + 1 < terms.size(); ++i)
      EXPECT_EQ(terms[i].why.empty(), terms[i].deepspeed_bytes == terms[i].our_bytes)
          << terms[i].what;
  const std::string text = estimator_text(two);
  EXPECT_NE(text.find("2P + 18P/N      4.250  3.750       0.500"), std::string::npos) << text;
  EXPECT_NE(text.find("gradients, fp32: a copy that DeepSpeed makes"), std::string::npos) << text;
}

}  // namespace
}  // namespace shardmark
