// Do strategies train models of odd shapes as the formulas say? Parameters that are empty, single,
// many or nearly everything, with gradients that are known in advance: the outcome is AdamW on
// their mean, computed here in double.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "impl/comm/thread_ranks.hpp"
#include "impl/export.hpp"
#include "impl/strategies/against_claim.hpp"
#include "impl/strategies/every_strategy.hpp"
#include "kernels/cpu/math.hpp"

namespace shardmark {
namespace {

constexpr std::size_t steps = 4;

using Sizes = std::vector<std::vector<std::size_t>>;  // of the parameters of each unit

Architecture architecture_of(const Sizes& sizes) {
  Architecture a;
  for (const auto& unit : sizes) {
    Unit u;
    for (std::size_t size : unit) {
      u.uses.push_back(static_cast<int>(a.parameters.size()));
      a.parameters.push_back({fmt::format("p{}", u.uses.back()), size, {Init::Kind::bell, 0.5f}});
    }
    a.units.push_back(u);
  }
  a.rows = 1;
  return a;
}

// What rank r finds for element i of parameter p. Multiples of 2^-7: exact in every type, and so is
// their sum over ranks.
float gradient_of(std::size_t step, int rank, int p, std::size_t i) {
  const std::size_t mixed = (i * 7 + step * 3 + static_cast<std::size_t>(rank * 5 + p * 11)) % 13;
  return (static_cast<float>(mixed) - 5) * 0x1p-7f;
}

struct Overflow {  // a gradient that is infinite
  std::size_t step = steps;
  int rank = 0;
};

// Knows its gradients; its forward is nothing.
class KnownModel final : public Model {
 public:
  KnownModel(Rank& r, const Architecture& a, const Options& o, Overflow overflow)
      : Model(r, a, o), rank_(r.comm.rank()), overflow_(overflow) {}

 private:
  void run_forward(int, Views, const Memory&) override {}
  void run_backward(int u, Views, Views grads, const Memory&) override {
    const Unit& unit = architecture_.units[static_cast<std::size_t>(u)];
    for (std::size_t at = 0; at < unit.uses.size(); ++at) {
      const View to = gradient(grads, u, at);
      if (to) add(unit.uses[at], to);
    }
  }
  // The compute queue is this thread, so the scale is there to be read.
  void add(int p, View to) {
    std::vector<float> all(to.size());
    const float scale = control_.host<float>()[static_cast<int>(ControlSlot::loss_scale)];
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = scale * static_cast<float>(micro_scale()) * gradient_of(step_, rank_, p, i);
    if (overflow_.step == step_ && overflow_.rank == rank_) all[0] = INFINITY;
    run(Add{ConstView(reinterpret_cast<std::uintptr_t>(all.data()), all.size(), DType::f32,
                      Space::host),
            to});
  }

  int rank_;
  Overflow overflow_;
};

struct Outcome {
  std::vector<float> parameters, masters;  // in order
  std::vector<double> history;             // norms and scales
  std::string wrong;                       // bytes that are not as claimed
};

std::vector<float> read(Rank& r, const Layout& l, const State& s, const Architecture& a) {
  std::vector<std::vector<float>> by_number(a.parameters.size());
  export_parameters(r, l, s, [&](int p, ConstView v) {
    std::vector<float>& to = by_number[static_cast<std::size_t>(p)];
    to.resize(v.size());
    cpu::run(Cast{v, View(reinterpret_cast<std::uintptr_t>(to.data()), to.size(), DType::f32,
                          Space::host)},
             1);
  });
  std::vector<float> all;
  for (const auto& one : by_number) all.insert(all.end(), one.begin(), one.end());
  return all;
}

Outcome train_one(Rank r, const StrategyEntry& entry, const Architecture& a, const Options& o,
                  Overflow overflow) {
  const Layout layout(a, o, r.comm.ranks(), r.comm.rank(), entry.by_unit);
  KnownModel model(r, a, o, overflow);
  const auto strategy = entry.make(r, model, layout, o);
  model.scale_loss_by(strategy->norm().control());
  strategy->parameters().initialize(a, 3);
  strategy->optimizer().initialize(a, 3);
  Claim claim = entry.claim(layout, o);
  Model::claim(claim, a, o, [](const Op&) { return std::size_t{0}; });
  std::int32_t token = 0;
  const View tokens(reinterpret_cast<std::uintptr_t>(&token), 1, DType::i32, Space::host);
  const std::vector<MicroBatch> micros(static_cast<std::size_t>(o.accumulate), {tokens, tokens});
  Outcome out;
  for (std::size_t step = 0; step < steps; ++step) {
    r.device.memory().restart_peaks();
    strategy->step({step, micros});
    out.wrong += held_against_claim(r.device.memory().ledger().peaks(), claim.bytes,
                                    fmt::format("step {}", step));
  }
  r.device.drain();
  out.parameters = read(r, layout, strategy->parameters(), a);
  if (const State* masters = strategy->optimizer().master())
    out.masters = read(r, layout, *masters, a);
  const auto history = strategy->norm().history().host<double>();
  out.history.assign(history.begin(), history.end());
  return out;
}

std::vector<Outcome> train_all(const std::string& strategy, int ranks, const Architecture& a,
                               Options o, Overflow overflow = {}) {
  o.steps = static_cast<int>(steps);
  ThreadRanks how;
  how.ranks = ranks, how.timeout_s = 20, how.overlap = true;
  std::vector<Outcome> all(static_cast<std::size_t>(ranks));
  const auto body = [&](const Rank& r) {
    all[static_cast<std::size_t>(r.comm.rank())] =
        train_one(r, strategies().at(strategy), a, o, overflow);
  };
  for (const std::string& said : run_on_threads(how, body)) EXPECT_EQ(said, "") << strategy;
  return all;
}

struct Expected {
  std::vector<double> parameters, norms;
};

// AdamW on the mean over ranks, from the same start, skipping a step.
Expected expected(const std::vector<float>& start, const Architecture& a, int ranks,
                  const Options& o, std::size_t skipped) {
  Expected e{{start.begin(), start.end()}, {}};
  std::vector<double> m(start.size()), v(start.size()), g(start.size());
  const AdamParameters& with = o.adam;
  const double b1 = with.beta1, b2 = with.beta2;
  int t = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    double squares = 0;
    std::size_t at = 0;
    for (int p = 0; p < static_cast<int>(a.parameters.size()); ++p)
      for (std::size_t i = 0; i < a.parameters[static_cast<std::size_t>(p)].size; ++i, ++at) {
        g[at] = 0;
        for (int r = 0; r < ranks; ++r) g[at] += gradient_of(step, r, p, i) / double(ranks);
        squares += g[at] * g[at];
      }
    e.norms.push_back(std::sqrt(squares));
    if (step == skipped) continue;
    ++t;
    const double coefficient = o.clip > 0 ? std::min(1.0, o.clip / (e.norms.back() + 1e-6)) : 1;
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double x = g[i] * coefficient;
      m[i] = b1 * m[i] + (1 - b1) * x, v[i] = b2 * v[i] + (1 - b2) * x * x;
      const double root = std::sqrt(v[i] / (1 - std::pow(b2, t))) + double(with.epsilon);
      e.parameters[i] -= double(with.lr) * (m[i] / (1 - std::pow(b1, t)) / root +
                                            double(with.decay) * e.parameters[i]);
    }
  }
  return e;
}

std::vector<float> start_of(const Architecture& a) {
  std::vector<float> all;
  for (std::size_t p = 0; p < a.parameters.size(); ++p) {
    std::vector<float> one(a.parameters[p].size);
    if (one.empty()) continue;
    cpu::run(Fill{View(reinterpret_cast<std::uintptr_t>(one.data()), one.size(), DType::f32,
                       Space::host),
                  a.parameters[p].init, 3, p, 0},
             1);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

void expect_right(const std::string& strategy, int ranks, const Sizes& sizes, const Options& o,
                  Overflow overflow = {}) {
  SCOPED_TRACE(fmt::format("{} N={} {} parameters in the first unit, bucket {}, {}", strategy,
                           ranks, sizes[0].size(), o.bucket_elements, name(o.precision.parameter)));
  const Architecture a = architecture_of(sizes);
  const Expected want = expected(start_of(a), a, ranks, o, overflow.step);
  const std::vector<Outcome> all = train_all(strategy, ranks, a, o, overflow);
  for (const Outcome& rank : all) {
    EXPECT_EQ(rank.wrong, "");
    EXPECT_EQ(rank.parameters, all[0].parameters);
    EXPECT_EQ(rank.history, all[0].history);
    const std::vector<float>& got = rank.masters.empty() ? rank.parameters : rank.masters;
    ASSERT_EQ(got.size(), want.parameters.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want.parameters[i], 1e-5) << "element " << i;
    for (std::size_t step = 0; step < steps && o.needs_norm(); ++step)
      if (step != overflow.step) {
        EXPECT_NEAR(rank.history[3 * step] / want.norms[step], 1, 1e-6);
      }
  }
}

class Shapes : public testing::TestWithParam<std::string> {};

Sizes many() {
  Sizes sizes(7);
  for (std::size_t i = 0; i < 57; ++i) sizes[i % 7].push_back(i + 1);
  return sizes;
}

TEST_P(Shapes, OddOnesTrainAsTheFormulasSay) {
  const std::pair<int, Sizes> cases[] = {
      {8, {{64, 1}, {1}}},           // a bias of one element on 8 ranks
      {3, {{10, 0, 7}, {0}, {5}}},   // nothing at all, beside others and alone
      {2, many()},                   // 57 parameters on 2 ranks
      {2, {{57}}},                   // and of 57 elements
      {4, {{20, 3}, {9900}, {77}}},  // one with 99 % of the elements
  };
  for (const auto& [ranks, sizes] : cases)
    for (const std::size_t bucket : {0, 1, 100, 1'000'000}) {
      Options o;
      o.bucket_elements = bucket, o.clip = 0.5, o.adam.lr = 0.01f;
      expect_right(GetParam(), ranks, sizes, o);
    }
}

// 2-byte parameters round what the f32 weights behind them became; gradients here are exact in 2
// bytes.
TEST_P(Shapes, TwoByteParametersFollowTheirMasters) {
  for (const DType all : {DType::bf16, DType::f16})
    for (const DType wire : {all, DType::f32}) {
      Options o;
      o.precision = precision_in(all, wire, LossScaling{16, 1, 3});
      o.bucket_elements = 100, o.clip = 0.5, o.adam.lr = 0.01f;
      expect_right(GetParam(), 4, {{20, 3}, {990}, {77}}, o);
    }
}

// An overflow on any rank makes all of them skip the step and halve the scale; two good steps in a
// row double it.
TEST_P(Shapes, AnOverflowOnOneRankSkipsTheStepOnAll) {
  Options o;
  o.precision = precision_in(DType::f16, DType::f16, LossScaling{16, 1, 2});
  for (const double clip : {0.0, 0.5})
    for (const int rank : {0, 2}) {
      o.clip = clip, o.adam.lr = 0.01f;
      const Overflow overflow{1, rank};
      expect_right(GetParam(), 4, {{20, 3}, {99}}, o, overflow);
      const Outcome out =
          train_all(GetParam(), 4, architecture_of({{20, 3}, {99}}), o, overflow)[0];
      const double scales[steps] = {16, 16, 8, 8};
      for (std::size_t step = 0; step < steps; ++step) {
        EXPECT_EQ(out.history[3 * step + 2], scales[step]) << step;
        EXPECT_EQ(std::isfinite(out.history[3 * step]), step != overflow.step) << step;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(AllStrategies, Shapes, testing::ValuesIn(every_strategy()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace shardmark
