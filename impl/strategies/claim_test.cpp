// Are the textbook claims the formulas of the ZeRO paper? Table of design section 5, and the
// paper's own example of a model of 7.5e9 parameters (Rajbhandari et al. 2020, table 1 and figure
// 1).
#include <gtest/gtest.h>

#include "impl/strategies/strategy.hpp"

namespace shardmark {
namespace {

constexpr double P = 7.5e9;

Architecture one_unit() {
  Architecture a;
  a.parameters.push_back({"w", 7'500'000'000, {}});
  a.units.push_back({});
  a.units[0].uses = {0};
  return a;
}

Claim textbook(const std::string& strategy, int n, const Options& o, Layout& l) {
  const StrategyEntry& e = strategies().at(strategy);
  l = Layout(one_unit(), o, n, 0, e.by_unit).textbook();
  return e.claim(l, o);
}

double states(const std::string& strategy, int n, const Options& o) {
  Layout l(one_unit(), o, 1, 0, true);
  double total = 0;
  for (const auto& [what, bytes] : textbook(strategy, n, o, l).bytes)
    if (is_model_state(what.first)) total += bytes;
  return total;
}

Options mixed() {
  Options o;
  o.precision = precision_in(DType::bf16, DType::bf16);
  return o;
}

TEST(Claim, ModelStatesInMixedPrecisionAreThePapers) {
  EXPECT_DOUBLE_EQ(states("ddp", 8, mixed()), 16 * P);
  EXPECT_DOUBLE_EQ(states("zero1", 8, mixed()), 5.5 * P);
  EXPECT_DOUBLE_EQ(states("zero2", 8, mixed()), 3.75 * P);
  EXPECT_DOUBLE_EQ(states("zero3", 8, mixed()), 2 * P);
  EXPECT_DOUBLE_EQ(states("zero1_naive", 8, mixed()), 5.5 * P);
  EXPECT_DOUBLE_EQ(states("zero2_naive", 8, mixed()), 5.5 * P);
  // N = 64: 120 GB become 31.4, 16.6 and 1.88 GB.
  EXPECT_NEAR(states("zero1", 64, mixed()) * 1e-9, 31.4, 0.05);
  EXPECT_NEAR(states("zero2", 64, mixed()) * 1e-9, 16.6, 0.05);
  EXPECT_NEAR(states("zero3", 64, mixed()) * 1e-9, 1.88, 0.005);
}

TEST(Claim, ModelStatesInFp32) {
  EXPECT_DOUBLE_EQ(states("ddp", 8, {}), 16 * P);
  EXPECT_DOUBLE_EQ(states("zero1", 8, {}), 9 * P);
  EXPECT_DOUBLE_EQ(states("zero2", 8, {}), 5.5 * P);
  EXPECT_DOUBLE_EQ(states("zero3", 8, {}), 2 * P);
  EXPECT_DOUBLE_EQ(states("zero1_naive", 8, {}), 9 * P);
  EXPECT_DOUBLE_EQ(states("zero2_naive", 8, {}), 9 * P);
}

// Volume a step in elements x (N-1)/N, k micro-steps.
double volume(const std::string& strategy, const Options& o) {
  Layout l(one_unit(), o, 1, 0, true);
  double total = 0;
  for (const auto& [what, calls] : textbook(strategy, 8, o, l).calls) total += calls.volume;
  return total / (4 * P * 7 / 8);
}
double volume(const std::string& strategy, int k) {
  Options o;
  o.accumulate = k;
  return volume(strategy, o);
}

TEST(Claim, VolumeIsThePapers) {
  for (int k : {1, 4}) {
    EXPECT_DOUBLE_EQ(volume("ddp", k), 2);
    EXPECT_DOUBLE_EQ(volume("zero1", k), 2);
    EXPECT_DOUBLE_EQ(volume("zero2", k), k + 1);
    EXPECT_DOUBLE_EQ(volume("zero3", k), 3 * k);
    EXPECT_DOUBLE_EQ(volume("zero1_naive", k), 3);
    EXPECT_DOUBLE_EQ(volume("zero2_naive", k), k + 1);
  }
}

// Of ddp's: parameters travel in bf16, gradients in that or in f32; the README's table.
TEST(Claim, VolumeInTwoTypesIsAsCountedByHand) {
  struct Row {
    DType wire;
    int k;
    double zero1, zero2, zero3, zero1_naive, zero2_naive;
  };
  for (const Row& row : {Row{DType::bf16, 1, 1, 1, 1.5, 1.5, 1},
                         {DType::bf16, 4, 1, 2.5, 6, 1.5, 2.5},
                         {DType::f32, 1, 0.75, 0.75, 1, 1.25, 0.75},
                         {DType::f32, 4, 0.75, 2.25, 4, 1.25, 2.25}}) {
    Options o;
    o.precision = precision_in(DType::bf16, row.wire);
    o.accumulate = row.k;
    const auto of_ddp = [&](const std::string& strategy) {
      return volume(strategy, o) / volume("ddp", o);
    };
    EXPECT_DOUBLE_EQ(of_ddp("zero1"), row.zero1);
    EXPECT_DOUBLE_EQ(of_ddp("zero2"), row.zero2);
    EXPECT_DOUBLE_EQ(of_ddp("zero3"), row.zero3);
    EXPECT_DOUBLE_EQ(of_ddp("zero1_naive"), row.zero1_naive);
    EXPECT_DOUBLE_EQ(of_ddp("zero2_naive"), row.zero2_naive);
  }
}

// Of 1000 elements 40 stay whole on 4 ranks: 960 / 4 + 40, and the paper's volume as ever.
TEST(Claim, WhatStaysWholeIsInTheFormulaOfZero3) {
  Architecture a;
  a.parameters = {{"w", 960, {}}, {"b", 40, {}}};
  a.units.push_back({});
  a.units[0].uses = {0, 1};
  Options o = mixed();
  o.persist_below = 100;
  const Layout layout(a, o, 4, 0, true), l = layout.textbook();
  const Claim c = strategies().at("zero3").claim(l, o);
  EXPECT_EQ(l.kept_whole(), 40u);
  EXPECT_EQ(c.formula.at(Tag::parameter), "2P/N + 2W(N-1)/N");
  EXPECT_DOUBLE_EQ(c.bytes.at({Tag::parameter, DType::bf16}), 2 * (960 / 4 + 40));
  EXPECT_DOUBLE_EQ(c.calls.at({Verb::all_gather, DType::bf16}).payload, 2 * 2 * 1000);
}

TEST(Claim, FormulasAreSpelledOut) {
  Layout l(one_unit(), {}, 1, 0, true);
  const Claim c = textbook("zero2", 8, mixed(), l);
  EXPECT_EQ(c.formula.at(Tag::parameter), "2P");
  EXPECT_EQ(c.formula.at(Tag::gradient), "2P/N");
  EXPECT_EQ(c.formula.at(Tag::master), "4P/N");
}

}  // namespace
}  // namespace shardmark
