// How much of a step is matrix products, what does a narrower type gain, and what does recording
// cost?
//
// step/MODEL/TYPE: forward + backward of ddp on two thread ranks, one thread each, against what the
// model's bare products take on both ranks at once in the same run (of_matrix), and against the
// rate of one large product on both (of_rate). narrower/MODEL: pairs of runs in bf16 and in fp32,
// in turn; the ratio of their steps is the median over pairs. recording/MODEL: pairs of runs with
// recorders on and off, in turn; the cost is the median of the pairs' ratios, all steps by one
// clock around them. trace/MODEL: the same for tracing, recorders on in both.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <thread>

#include "impl/train.hpp"
#include "kernels/rates.hpp"

namespace shardmark {
namespace {

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

Training training(const std::string& model, int steps, DType type = DType::f32) {
  Training t;
  t.model = model, t.strategy = "ddp", t.ranks = 2, t.batch = 4, t.sequence = 256;
  t.steps = steps, t.overlap = false;
  t.options.bucket_elements = 1'000'000, t.options.clip = 1;
  t.options.precision = precision_in(type, type);
  for (unsigned i = 0; i < 50'000; ++i)
    t.corpus.push_back(static_cast<std::uint8_t>(32 + (i * i / 7 + i % 13 * 5) % 90));
  return t;
}

// Of one rank, where both compute at once.
double rate_of(DType type) {
  double rates[2] = {};
  std::thread other([&] { rates[1] = matrix_rate(1, type); });
  rates[0] = matrix_rate(1, type);
  other.join();
  return (rates[0] + rates[1]) / 2;
}

double step_ns(const TrainingReport& r) {
  std::vector<double> ns;
  for (const RankReport& rank : r.ranks)
    for (std::size_t s = 2; s < rank.steps.size(); ++s)
      ns.push_back(static_cast<double>(rank.steps[s].step_ns));
  return median(ns);
}

void step(benchmark::State& state, const std::string& model, int steps, DType type) {
  for (auto _ : state) {
    Training t = training(model, steps, type);
    t.rate_products = true;
    const double before = rate_of(type);
    const TrainingReport r = train(t);
    const double rate = (before + rate_of(type)) / 2;
    std::vector<double> share, of_rate;
    for (const RankReport& rank : r.ranks)
      for (std::size_t s = 2; s < rank.steps.size(); ++s) {
        const StepTimes& at = rank.steps[s];
        const auto ns = static_cast<double>(at.of(Phase::forward) + at.of(Phase::backward));
        share.push_back(rank.products_ns / ns);
        of_rate.push_back(r.flops_per_step / ns * 1e9 / rate);
      }
    state.SetIterationTime(step_ns(r) * 1e-9);
    state.counters["of_matrix"] = median(share);
    state.counters["of_matrix_best"] = *std::max_element(share.begin(), share.end());
    state.counters["of_rate"] = median(of_rate);
    state.counters["rate_GFLOPs"] = rate * 1e-9;
    state.counters["matrix_GFLOPs"] = r.flops_per_step / r.ranks[0].products_ns;
  }
}

void narrower(benchmark::State& state, const std::string& model, int steps) {
  std::vector<double> ratios;
  bool first = false;
  for (auto _ : state) {
    double ns[2];
    for (const bool narrow : {first, !first})
      ns[narrow] = step_ns(train(training(model, steps, narrow ? DType::bf16 : DType::f32)));
    first = !first;
    ratios.push_back(ns[1] / ns[0]);
    state.SetIterationTime(ns[1] * 1e-9);
  }
  state.counters["of_fp32"] = median(ratios);
}

// Pairs of runs with `what` on and off, in turn; the cost is the median of the pairs' ratios.
void cost_of(benchmark::State& state, const std::string& model, int steps,
             void (*set)(Training&, bool on)) {
  std::vector<double> ratios;
  bool first = false;
  for (auto _ : state) {
    double ns[2];
    for (const bool on : {first, !first}) {
      Training t = training(model, steps);
      set(t, on);
      ns[on] = static_cast<double>(train(t).ranks[0].loop_ns);
    }
    first = !first;
    ratios.push_back(ns[1] / ns[0]);
    state.SetIterationTime(ns[1] * 1e-9);
  }
  std::sort(ratios.begin(), ratios.end());
  state.counters["cost"] = median(ratios) - 1;
  state.counters["cost_lower_quartile"] = ratios[ratios.size() / 4] - 1;
  state.counters["cost_upper_quartile"] = ratios[ratios.size() * 3 / 4] - 1;
}

void recording(benchmark::State& state, const std::string& model, int steps) {
  cost_of(state, model, steps, [](Training& t, bool on) { t.record_time = on; });
}

// zero3: of all strategies the one that asks for memory most often.
void trace(benchmark::State& state, const std::string& model, int steps) {
  cost_of(state, model, steps, [](Training& t, bool on) {
    t.strategy = "zero3", t.overlap = true;
    t.trace = on;
  });
}

void add(const char* name, const std::string& model, int steps, DType type) {
  benchmark::RegisterBenchmark(name, step, model, steps, type)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

[[maybe_unused]] const bool added = [] {
  add("step/gpt-micro/fp32", "gpt-micro", 7, DType::f32);
  add("step/gpt-micro/bf16", "gpt-micro", 7, DType::bf16);
  add("step/gpt-nano/fp32", "gpt-nano", 40, DType::f32);
  add("step/gpt-nano/bf16", "gpt-nano", 40, DType::bf16);
  return true;
}();
BENCHMARK_CAPTURE(narrower, gpt_micro, std::string("gpt-micro"), 6)
    ->Iterations(5)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(recording, gpt_nano, std::string("gpt-nano"), 18)
    ->Iterations(24)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(trace, gpt_nano, std::string("gpt-nano"), 18)
    ->Iterations(24)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace shardmark

BENCHMARK_MAIN();
