// Does every strategy do, on the dry device, what its formula claims? For many N and every option:
// bytes and calls counted by the ledgers equal the claim, every access is ordered, and nothing that
// comes and goes is left over.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "impl/dry_run.hpp"
#include "impl/models/registry.hpp"
#include "impl/rank_run.hpp"
#include "impl/strategies/every_strategy.hpp"
#include "kernels/cpu/math.hpp"

namespace shardmark {
namespace {

// Which parameters are not trained: none, here and there, or all of the first units.
enum class Frozen { none, third, prefix };

struct Case {
  std::string model, strategy;
  int ranks = 2, rank = 0;
  bool overlap = true;
  Options options;
  Frozen frozen = Frozen::none;
};

std::string name_of(const Case& c) {
  const Options& o = c.options;
  return fmt::format(
      "{} {} N={} rank {} overlap {} k={} bucket {} buckets {} clip {} in {} wire {} recompute {} "
      "prefetch {} keep_last {} persist {} frozen {}",
      c.model, c.strategy, c.ranks, c.rank, c.overlap, o.accumulate, o.bucket_elements, o.buckets,
      o.clip, name(o.precision.parameter), name(o.precision.wire), static_cast<int>(o.recompute),
      o.prefetch, o.keep_last, o.persist_below, static_cast<int>(c.frozen));
}

std::string differences(const Claim& claim, const DryStep& step) {
  std::string text;
  std::map<Held, double> measured;
  for (const auto& [what, bytes] : step.held)
    if (bytes) measured[what] = static_cast<double>(bytes);
  for (const auto& side : {claim.bytes, measured})
    for (const auto& [what, bytes] : side) {
      const auto of = [&](const std::map<Held, double>& m) {
        return m.contains(what) ? m.at(what) : 0.0;
      };
      if (of(claim.bytes) != of(measured))
        text += fmt::format("\n  {} {}: claimed {} measured {}", name(what.first),
                            name(what.second), of(claim.bytes), of(measured));
    }
  std::map<Called, Claim::Calls> sent;
  for (const auto& [what, t] : step.traffic)
    sent[what] = {double(t.calls), double(t.payload), double(t.volume)};
  for (const auto& side : {claim.calls, sent})
    for (const auto& [what, c] : side) {
      const auto of = [&](const std::map<Called, Claim::Calls>& m) {
        return m.contains(what) ? m.at(what) : Claim::Calls{};
      };
      if (of(claim.calls) != of(sent))
        text += fmt::format(
            "\n  {} {}: claimed {} calls {} bytes {} sent, measured {} calls {} bytes {} sent",
            name(what.first), name(what.second), of(claim.calls).calls, of(claim.calls).payload,
            of(claim.calls).volume, of(sent).calls, of(sent).payload, of(sent).volume);
    }
  return text;
}

// What is wrong with three steps of this case; empty if nothing is.
std::string run(const Case& c) {
  Training t;
  t.model = c.model, t.strategy = c.strategy;
  t.ranks = c.ranks, t.overlap = c.overlap;
  t.sequence = 4, t.batch = 2;
  t.options = c.options;
  const StrategyEntry& entry = strategies().at(c.strategy);
  const Architecture a = make_architecture(c.model, t.sequence, t.batch);
  for (std::size_t i = 0; i < a.parameters.size() && c.frozen != Frozen::none; ++i)
    t.options.frozen.push_back(c.frozen == Frozen::third ? i % 3 == 0
                                                         : i < a.parameters.size() / 2);
  const DryReport dry = dry_run(t, c.rank, 3);
  t.options.steps = steps_of(t);
  Claim claim = entry.claim(Layout(a, t.options, c.ranks, c.rank, entry.by_unit), t.options);
  Model::claim(claim, a, t.options, [](const Op& op) { return cpu::scratch_bytes(op, 1); });
  std::string wrong;
  for (const DryStep& step : dry.steps) {
    wrong += differences(claim, step);
    for (const auto& [what, bytes] : step.left_over)
      wrong += fmt::format("\n  {} is left over", name(what.first));
  }
  for (const std::string& v : dry.violations) wrong += "\n  " + v;
  return wrong;
}

class DrySteps : public testing::TestWithParam<std::string> {
 protected:
  void expect_right(Case c) {
    c.strategy = GetParam();
    const std::string wrong = run(c);
    ++cases_;
    if (!wrong.empty() && ++failures_ <= 5) ADD_FAILURE() << name_of(c) << wrong;
  }
  bool by_unit() const { return strategies().at(GetParam()).by_unit; }
  int cases_ = 0, failures_ = 0;
};

TEST_P(DrySteps, BytesCallsAndOrderAreAsClaimedForAnyRanks) {
  for (const char* model :
       {"gpt:layers=2,width=8,heads=2,tied=1", "gpt:layers=2,width=8,heads=2,tied=0",
        "mlp:layers=3,width=12", "llama:layers=2,width=8,heads=2,kv_heads=1,qkv_bias=1"})
    for (int ranks : {1, 2, 3, 5, 8, 96, 1000})
      for (bool overlap : {false, true})
        for (std::size_t bucket :
             {std::size_t{0}, std::size_t{1}, std::size_t{700}, std::size_t{100'000'000}}) {
          if (ranks > 100 && bucket == 1)
            continue;  // a thousand ranks times a thousand segments: slow, and says no more
          Case c{model, "", ranks, ranks / 2, overlap, {}, Frozen::none};
          c.options.bucket_elements = bucket;
          c.options.clip = 1;
          expect_right(c);
        }
  EXPECT_EQ(failures_, 0) << "of " << cases_;
}

// Parameters in one type, gradients reduced in another.
const std::pair<DType, DType> types[] = {{DType::f32, DType::f32},   {DType::f32, DType::bf16},
                                         {DType::bf16, DType::bf16}, {DType::bf16, DType::f32},
                                         {DType::f16, DType::f16},   {DType::f16, DType::f32}};

TEST_P(DrySteps, EveryOptionChangesClaimAndMeasurementAlike) {
  for (const auto& [all, wire] : types)
    for (int k : {1, 4})
      for (int buckets : {1, 2, 3})
        for (Frozen frozen : {Frozen::none, Frozen::third, Frozen::prefix})
          for (Recompute recompute : {Recompute::none, Recompute::unit}) {
            Case c{"gpt:layers=3,width=8,heads=2", "", 5, 1, true, {}, frozen};
            c.options.precision = precision_in(all, wire);
            c.options.accumulate = k, c.options.buckets = buckets;
            c.options.clip = k == 1 ? 1 : 0, c.options.recompute = recompute;
            c.options.bucket_elements = 900;
            expect_right(c);
          }
  EXPECT_EQ(failures_, 0) << "of " << cases_;
}

TEST_P(DrySteps, EveryWayToGatherIsAsClaimed) {
  for (const char* model : {"gpt:layers=3,width=8,heads=2", "mlp:layers=3,width=12"})
    for (const auto& [all, wire] : types)
      for (int k : {1, 4})
        for (Frozen frozen : {Frozen::none, Frozen::third, Frozen::prefix})
          for (Recompute recompute : {Recompute::none, Recompute::unit})
            for (int prefetch : by_unit() ? std::vector{0, 1, 2, 9} : std::vector{1})
              for (bool keep : by_unit() ? std::vector{false, true} : std::vector{true})
                for (std::size_t persist :
                     by_unit() ? std::vector<std::size_t>{0, 30} : std::vector<std::size_t>{0}) {
                  Case c{model, "", 5, 1, true, {}, frozen};
                  c.options.precision = precision_in(all, wire);
                  c.options.accumulate = k, c.options.recompute = recompute;
                  c.options.prefetch = prefetch, c.options.keep_last = keep;
                  c.options.persist_below = persist;
                  expect_right(c);
                }
  EXPECT_EQ(failures_, 0) << "of " << cases_;
}

INSTANTIATE_TEST_SUITE_P(AllStrategies, DrySteps, testing::ValuesIn(every_strategy()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace shardmark
