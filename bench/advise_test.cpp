// Does advise say what arithmetic says: who fits between two formulas of the ZeRO paper, on how
// many GPUs, and at which link the answer changes?
#include "bench/advise.hpp"

#include <gtest/gtest.h>

#include <set>

#include "bench/advise_command.hpp"
#include "bench/cluster_file.hpp"
#include "bench/test_support.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {
namespace {

using nlohmann::json;
using testing::refused;

// 50,600,960 parameters in 16 layers, few tokens: states are nearly all of the bytes.
constexpr const char* deep = "gpt:layers=16,width=512,heads=8";

Prediction start_of(const std::string& model, std::int64_t ranks) {
  Cell c;
  c.model = model, c.ranks = ranks, c.sequence = 8, c.batch = 1;
  return predict({c}).front();
}

double parameters_of(const std::string& model) {
  return static_cast<double>(start_of(model, 1).claims.parameters);
}

Question asked(const std::string& model, std::int64_t gpus, double memory, double gb_per_s) {
  Question q;
  q.cell = start_of(model, gpus).cell;
  q.cluster = cluster_of("--cluster", "a100");
  q.cluster.gpus_per_node = 1;
  q.cluster.memory_bytes = memory;
  q.cluster = with_link_rate(q.cluster, gpus, gb_per_s);
  return q;
}

std::set<std::string> fitting(const Advice& a) {
  std::set<std::string> names;
  for (const Choice& c : a.tried)
    if (c.fits()) names.insert(c.strategy());
  return names;
}

// In fp32 a rank holds 16 P, 8 P + 8 P/N, 4 P + 12 P/N and 16 P/N (Rajbhandari et al. 2020,
// figure 1, with 4 bytes a parameter): on 4 ranks 16, 10, 7 and 4 P.
TEST(Advise, BetweenTwoFormulasFitsFromTheSecondStageOn) {
  const double p = parameters_of(deep);
  const Advice a = advise(asked(deep, 4, 8.75 * p, 1));
  EXPECT_EQ(fitting(a), (std::set<std::string>{"zero2", "zero3"}));
  ASSERT_TRUE(a.best);
  // zero3 sends half as much again on a link that binds.
  EXPECT_EQ(a.tried[*a.best].strategy(), "zero2");
  for (const Choice& c : a.tried) {
    const double formula = c.strategy() == "ddp"     ? 16 * p
                           : c.strategy() == "zero2" ? 7 * p
                           : c.strategy() == "zero3" ? 4 * p
                                                     : 10 * p;
    EXPECT_NEAR(c.prediction.model_state_bytes(), formula, 0.001 * p) << c.strategy();
    EXPECT_EQ(c.over_bytes, c.prediction.peak_bytes - 8.75 * p);
  }
}

TEST(Advise, TheLowerStageFitsWhereItsFormulaDoes) {
  const double p = parameters_of(deep);
  const Advice a = advise(asked(deep, 4, 8.75 * p, 1));
  ASSERT_EQ(a.lower_stages.size(), 2u);
  EXPECT_EQ(a.lower_stages[0].strategy(), "ddp");  // 16 P on any number
  EXPECT_FALSE(a.lower_stages[0].fits());
  EXPECT_EQ(a.lower_stages[1].strategy(), "zero1");  // 9 P on 8, 8.5 P on 16
  EXPECT_EQ(a.lower_stages[1].prediction.cell.ranks, 16);
  EXPECT_TRUE(a.lower_stages[1].fits());
  ASSERT_TRUE(a.half_of_fewest);
  EXPECT_FALSE(a.half_of_fewest->fits());
  // zero1 holds 8 P and more on all there are.
  const Advice never = advise(asked(deep, 4, 7.9 * p, 1));
  EXPECT_FALSE(never.lower_stages.at(1).fits());
  EXPECT_GT(never.lower_stages[1].prediction.cell.ranks, 4);
}

TEST(Advise, WhereAllFitsOneGpuWouldDo) {
  const Advice a = advise(asked(deep, 4, 20 * parameters_of(deep), 1));
  EXPECT_EQ(fitting(a).size(), 6u);
  EXPECT_TRUE(a.lower_stages.empty());
  EXPECT_FALSE(a.next_faster);
  ASSERT_TRUE(a.fewest);
  EXPECT_EQ(a.fewest->prediction.cell.ranks, 1);
  EXPECT_FALSE(a.half_of_fewest);
  EXPECT_FALSE(a.tried[*a.best].naive);
}

// 4 P on 4 ranks, 2 P and at most a layer's worth of buckets on 8.
TEST(Advise, WhereNothingFitsItSaysByHowMuchAndWhereItDoes) {
  const double p = parameters_of(deep);
  const Advice a = advise(asked(deep, 4, 3.5 * p, 1));
  EXPECT_FALSE(a.best);
  const Choice& smallest = a.tried[a.smallest];
  EXPECT_EQ(smallest.strategy(), "zero3");
  EXPECT_GT(smallest.over_bytes, 0.5 * p);
  EXPECT_EQ(smallest.over_bytes, smallest.prediction.peak_bytes - 3.5 * p);
  ASSERT_TRUE(a.more);
  EXPECT_TRUE(a.more->fits());
  EXPECT_EQ(a.more->prediction.cell.ranks, 8);
  const Advice never = advise(asked(deep, 4, 1e6, 1));
  ASSERT_TRUE(never.more);
  EXPECT_FALSE(never.more->fits());
  EXPECT_NE(advice_text(never).find("Nothing fits."), std::string::npos);
}

TEST(Advise, WhatIsReservedIsNotThere) {
  const double p = parameters_of(deep);
  Question q = asked(deep, 4, 12 * p, 1);
  q.reserve = 3.25 * p;
  EXPECT_EQ(fitting(advise(q)), (std::set<std::string>{"zero2", "zero3"}));
}

Advice on_ten_gigabit() {
  Question q = asked("smollm-135m", 8, 1.5e9, 1.25);
  q.cell.precision = q.cell.reduce_dtype = "bf16";
  q.cell.batch = 4, q.cell.sequence = 1024;
  return advise(q);
}

double step_of(const Advice& a, const std::string& strategy, double rate) {
  const Cluster c = with_link_rate(a.question.cluster, a.question.cell.ranks, rate);
  double fastest = 0;
  for (const Choice& t : a.tried)
    if (t.strategy() == strategy && t.fits()) {
      const Prediction p = predict({t.prediction.cell}, c).front();
      const auto ns = static_cast<double>(p.time->step.step_ns);
      fastest = fastest == 0 ? ns : std::min(fastest, ns);
    }
  return fastest;
}

TEST(Advise, TheAnswerChangesAtTheRateItSays) {
  const Advice a = on_ten_gigabit();
  ASSERT_TRUE(a.best);
  ASSERT_TRUE(a.faster_link);
  const std::string best = a.tried[*a.best].strategy(), other = a.faster_link->strategy;
  const double rate = a.faster_link->bytes_per_ns;
  EXPECT_NE(best, other);
  EXPECT_GT(step_of(a, other, rate * 0.99) * (1 + distinct), step_of(a, best, rate * 0.99));
  EXPECT_LT(step_of(a, other, rate * 1.001) * (1 + distinct), step_of(a, best, rate * 1.001));
  EXPECT_EQ(step_of(a, other, rate), a.faster_link->step_ns);
  EXPECT_EQ(step_of(a, best, rate), a.faster_link->step_ns_of_best);
}

TEST(Advise, AllChoicesHaveAsManyTokens) {
  Question q = asked(deep, 4, 8.75 * parameters_of(deep), 1);
  q.cell.batch = 6, q.cell.accumulate = 2, q.cell.sequence = 512;
  const Advice a = advise(q);
  std::set<std::int64_t> batches;
  for (const Choice& c : a.tried) {
    EXPECT_EQ(c.prediction.cell.batch * c.prediction.cell.accumulate, 12);
    EXPECT_EQ(c.prediction.tokens_per_step, a.tried[0].prediction.tokens_per_step);
    batches.insert(c.prediction.cell.batch);
  }
  EXPECT_EQ(batches, (std::set<std::int64_t>{1, 3, 6}));
}

// Activations that one micro-batch of one sequence keeps are too many, states are few.
TEST(Advise, SaysWhichSettingLetsItFit) {
  const std::string model = "gpt:layers=8,width=64,heads=2";
  Question q = asked(model, 2, 0, 1);
  q.cell.sequence = 1024, q.cell.recompute = "none", q.recompute_given = true;
  const auto peak = [&](std::int64_t sequence, const char* recompute) {
    Cell c = q.cell;
    c.strategy = "zero3", c.sequence = sequence, c.recompute = recompute, c.prefetch = 0;
    return predict({c}).front().peak_bytes;
  };
  q.cluster.memory_bytes = (peak(512, "none") + peak(1024, "none")) / 2;
  ASSERT_LT(peak(1024, "unit"), q.room());
  const Advice a = advise(q);
  EXPECT_FALSE(a.best);
  ASSERT_TRUE(a.other_recompute);
  EXPECT_EQ(a.other_recompute->prediction.cell.recompute, "unit");
  ASSERT_TRUE(a.shorter);
  EXPECT_EQ(a.shorter->prediction.cell.sequence, 512);
  q.recompute_given = false;
  EXPECT_TRUE(advise(q).best);
}

TEST(Advise, TheLinkIsTheOneBetweenTheGpusThatThereAre) {
  Cluster c = cluster_of("--cluster", "a100");
  c.inside.bytes_per_ns = 300, c.between.bytes_per_ns = 25;
  c.verbs[Verb::all_reduce] = {1000, 0, 0.01, 0.02};
  EXPECT_EQ(link_rate(c, 8), 300);
  EXPECT_EQ(link_rate(c, 16), 25);
  const Cluster inside = with_link_rate(c, 8, 30), between = with_link_rate(c, 16, 50);
  EXPECT_EQ(inside.inside.bytes_per_ns, 30);
  EXPECT_EQ(inside.between.bytes_per_ns, 25);
  EXPECT_DOUBLE_EQ(inside.verbs.at(Verb::all_reduce).ns_per_byte, 0.1);
  EXPECT_DOUBLE_EQ(inside.verbs.at(Verb::all_reduce).ns_per_cold_byte, 0.2);
  EXPECT_EQ(between.inside.bytes_per_ns, 300);
  EXPECT_EQ(between.between.bytes_per_ns, 50);
  EXPECT_EQ(bandwidth_of("--bandwidth", "50GB/s"), 50);
  EXPECT_EQ(bandwidth_of("--bandwidth", "400gbit"), 50);
  EXPECT_EQ(bandwidth_of("--bandwidth", "400 Gbit/s"), 50);
}

TEST(Advise, WhatIsWrongIsOneSentence) {
  const testing::Folder f;
  const auto why = [&](const std::string& flags) {
    const auto ran = testing::shardmark(f, "advise " + flags);
    EXPECT_EQ(ran.code, 2) << flags << ran.out;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    return ran.err.substr(std::min(ran.err.size(), std::string("shardmark: ").size()));
  };
  const std::string usual = "--gpus 2 --memory 1GB --bandwidth 1gbit ";
  EXPECT_EQ(why("--memory 1GB --bandwidth 1gbit").find("--gpus is missing"), 0u);
  EXPECT_EQ(why("--gpus 0 --memory 1GB --bandwidth 1gbit").find("--gpus is \"0\""), 0u);
  EXPECT_EQ(why("--gpus two --cluster a100").find("--gpus is \"two\""), 0u);
  EXPECT_EQ(why("--gpus 2 --memory 1GB").find("--bandwidth is missing"), 0u);
  EXPECT_EQ(why("--gpus 2 --bandwidth 1gbit").find("--memory is missing"), 0u);
  EXPECT_EQ(why("--gpus 2 --memory 0GB --cluster a100").find("--memory is \"0GB\""), 0u);
  EXPECT_EQ(why("--gpus 2 --memory=-1GB --cluster a100").find("--memory is \"-1GB\""), 0u);
  for (const char* bad : {"0GB/s", "=-5GB/s", "0gbit", "50", "50GB", "50Gb/s", "nan", "1gbit,1us"})
    EXPECT_EQ(why(std::string("--gpus 2 --memory 1GB --bandwidth ") + (*bad == '=' ? bad + 1 : bad))
                  .find("--bandwidth"),
              0u)
        << bad;
  EXPECT_EQ(why("--gpus 100001 --cluster a100").find("--gpus is \"100001\""), 0u);
  EXPECT_EQ(why(usual + "--accumulate 2000").find("--accumulate is 2000, which"), 0u);
  for (const char* rate : {"-1GB/s", "1e30GB/s", "1251GB/s", "124B/s", "9gigabit"}) {
    const std::string said = why(std::string("--gpus 2 --memory 1GB --bandwidth=") + rate);
    EXPECT_EQ(said.find(std::string("--bandwidth is \"") + rate + "\", but must be a rate from"),
              0u);
  }
  EXPECT_EQ(why(usual + "--reserve 1GB").find("--reserve is \"1GB\", which leaves nothing"), 0u);
  EXPECT_EQ(why(usual + "--sequence 8,16").find("advise answers one question"), 0u);
  EXPECT_EQ(why(usual + "--model smolm-135m").find("--model \"smolm-135m\" is unknown"), 0u);
  EXPECT_EQ(why(usual + "--strategy zero1").find("shardmark advise has no flag --strategy"), 0u);
  EXPECT_EQ(why(usual + "--format yaml").find("--format is \"yaml\""), 0u);
  EXPECT_EQ(why(usual + "--model gpt2 --bucket-mb 0.01").find("--bucket-mb is 0.01, which"), 0u);
}

TEST(Advise, TheCommandAnswersThoughNothingFits) {
  const testing::Folder f;
  for (const char* memory : {"1MB", "1GB", "20GB"}) {
    const std::string typed = std::string("advise --model gpt2 --gpus 8 --sequence 64 --memory ") +
                              memory + " --bandwidth 25GB/s";
    const auto text = testing::shardmark(f, typed);
    EXPECT_EQ(text.code, 0) << text.err;
    for (const std::string& line : split(text.out, '\n'))
      EXPECT_LE(display_width(line), 100u) << line;
    const json all = json::parse(testing::shardmark(f, typed + " --format json").out);
    EXPECT_EQ(all["best"].is_null(), std::string(memory) == "1MB");
    EXPECT_EQ(all["question"]["link_bytes_per_s"], 25e9);
    EXPECT_EQ(text.out.find("Nothing fits.") != std::string::npos, all["best"].is_null());
    std::set<std::string> strategies;
    for (const json& c : all["tried"]) strategies.insert(c["strategy"]);
    EXPECT_EQ(strategies.size(), 6u);
  }
}

}  // namespace
}  // namespace shardmark
