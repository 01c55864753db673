// Does a step hold and send what is claimed under every two options at once? All combinations would
// be thousands of trainings: for each strategy, a small set in which every pair of values occurs
// finds what depends on one option or on two.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "impl/models/registry.hpp"
#include "impl/strategies/against_claim.hpp"
#include "impl/strategies/every_strategy.hpp"

namespace shardmark {
namespace {

const char* const models[] = {
    "gpt:layers=2,width=10,heads=2",
    "llama:layers=2,width=12,heads=4,kv_heads=2,head_dim=4,inner=20,tied=0"};
// Of parameters, and of gradients on their way.
constexpr std::pair<DType, DType> types[] = {{DType::f32, DType::f32},   {DType::f32, DType::bf16},
                                             {DType::bf16, DType::bf16}, {DType::bf16, DType::f32},
                                             {DType::f16, DType::f16},   {DType::f16, DType::f32}};
constexpr int prefetches[] = {0, 1, 3};

enum Factor {
  precision,
  accumulate,
  recompute,
  persist,
  prefetch,
  keep_last,
  frozen,
  model,
  ranks,
  overlap,
  factors
};
using Row = std::array<std::size_t, factors>;
struct Choice {
  std::size_t factor, value;
  auto operator<=>(const Choice&) const = default;
};
using Pair = std::pair<Choice, Choice>;  // the smaller factor first

// by_unit: zero3's own options count.
Row values_of_each(bool by_unit) {
  const std::size_t two = by_unit ? 2 : 1, ahead = by_unit ? std::size(prefetches) : 1;
  return {std::size(types), 2, 2, two, ahead, two, 3, std::size(models), 2, 2};
}

std::set<Pair> all_pairs(const Row& values) {
  std::set<Pair> all;
  for (std::size_t a = 0; a < factors; ++a)
    for (std::size_t b = a + 1; b < factors; ++b)
      for (std::size_t i = 0; i < values[a]; ++i)
        for (std::size_t j = 0; j < values[b]; ++j) all.insert({Choice{a, i}, Choice{b, j}});
  return all;
}

// Greedy: each row begins with a pair that no row has yet, and gets by factor the value that makes
// the most new pairs with those that it has.
std::vector<Row> covering(const Row& values) {
  std::vector<Row> rows;
  std::set<Pair> open = all_pairs(values);
  while (!open.empty()) {
    Row row{};
    std::vector<Choice> chosen = {open.begin()->first, open.begin()->second};
    const auto fresh = [&](Choice c) {
      return std::count_if(chosen.begin(), chosen.end(), [&](Choice with) {
        return open.contains({std::min(c, with), std::max(c, with)});
      });
    };
    for (std::size_t f = 0; f < factors; ++f) {
      if (f == chosen[0].factor || f == chosen[1].factor) continue;
      Choice best{f, rows.size() % values[f]};  // where all are alike: another one in every row
      for (std::size_t v = 0; v < values[f]; ++v)
        if (fresh({f, v}) > fresh(best)) best.value = v;
      chosen.push_back(best);
    }
    for (const Choice c : chosen) row[c.factor] = c.value;
    for (const Choice a : chosen)
      for (const Choice b : chosen)
        if (a.factor < b.factor) open.erase({a, b});
    rows.push_back(row);
  }
  return rows;
}

Training training_of(const std::string& strategy, const Row& row) {
  Training t;
  t.model = models[row[model]], t.strategy = strategy;
  t.ranks = row[ranks] ? 3 : 2;
  t.overlap = row[overlap] == 1;
  t.batch = 2, t.sequence = 6, t.warmup = 1, t.steps = 2, t.comm_timeout_s = 20;
  t.corpus = some_text(), t.device = test_device;
  Options& o = t.options;
  o.precision = precision_in(types[row[precision]].first, types[row[precision]].second);
  o.accumulate = row[accumulate] ? 4 : 1;
  o.recompute = row[recompute] ? Recompute::unit : Recompute::none;
  o.persist_below = row[persist] ? 100 : 0;
  o.prefetch = prefetches[row[prefetch]];
  o.keep_last = row[keep_last] == 1;
  o.bucket_elements = 600, o.clip = 0.5;
  // None, some here and there, or all of the first half.
  const std::size_t parameters = make_architecture(t.model, t.sequence).parameters.size();
  for (std::size_t p = 0; row[frozen] > 0 && p < parameters; ++p)
    o.frozen.push_back(row[frozen] == 1 ? p % 3 == 0 : p < parameters / 2);
  return t;
}

std::string text_of(const Training& t) {
  const Options& o = t.options;
  return fmt::format(
      "{} {} N={} overlap {}, {} by {}, k={}, recompute {}, persist {}, prefetch {}, keep {}, {}",
      t.model, t.strategy, t.ranks, t.overlap, name(o.precision.parameter), name(o.precision.wire),
      o.accumulate, o.recompute == Recompute::unit, o.persist_below, o.prefetch, o.keep_last,
      o.frozen.empty() ? "all learn" : "some frozen");
}

class Pairs : public testing::TestWithParam<std::string> {
 protected:
  Row values() const { return values_of_each(strategies().at(GetParam()).by_unit); }
};

TEST_P(Pairs, AreAllCovered) {
  const std::vector<Row> rows = covering(values());
  for (const auto& [a, b] : all_pairs(values()))
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(),
                            [&, a = a, b = b](const Row& row) {
                              return row[a.factor] == a.value && row[b.factor] == b.value;
                            }))
        << "factors " << a.factor << " and " << b.factor;
  EXPECT_LT(rows.size(), 36u);  // 18 at least: types by frozen
}

TEST_P(Pairs, AreAsClaimed) {
  for (const Row& row : covering(values())) {
    const Training t = training_of(GetParam(), row);
    const TrainingReport r = train(t);
    EXPECT_EQ(against_claim(t, r), "") << text_of(t);
    for (const RankReport& rank : r.ranks)
      EXPECT_EQ(rank.parameter_hash, r.ranks[0].parameter_hash) << text_of(t);
  }
}

INSTANTIATE_TEST_SUITE_P(AllStrategies, Pairs, testing::ValuesIn(every_strategy()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace shardmark
