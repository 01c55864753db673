// How much of a step is matrix products, and what does recording it cost?
//
// step/MODEL: forward + backward of ddp on two thread ranks, one thread each, against what the
// model's bare products take on both ranks at once in the same run (of_matrix). recording/MODEL:
// pairs of runs with recorders on and off, in turn; the cost is the median of the pairs' ratios,
// all steps by one clock around them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>

#include "impl/train.hpp"

namespace shardmark {
namespace {

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

Training training(const std::string& model, int steps) {
  Training t;
  t.model = model, t.strategy = "ddp", t.ranks = 2, t.batch = 4, t.sequence = 256;
  t.steps = steps, t.overlap = false;
  t.options.bucket_elements = 1'000'000, t.options.clip = 1;
  for (unsigned i = 0; i < 50'000; ++i)
    t.corpus.push_back(static_cast<std::uint8_t>(32 + (i * i / 7 + i % 13 * 5) % 90));
  return t;
}

void step(benchmark::State& state, const std::string& model, int steps) {
  for (auto _ : state) {
    Training t = training(model, steps);
    t.rate_products = true;
    const TrainingReport r = train(t);
    std::vector<double> share, best, step_ms;
    for (const RankReport& rank : r.ranks)
      for (std::size_t s = 2; s < rank.steps.size(); ++s) {
        const StepTimes& at = rank.steps[s];
        share.push_back(rank.products_ns /
                        static_cast<double>(at.of(Phase::forward) + at.of(Phase::backward)));
        step_ms.push_back(static_cast<double>(at.step_ns) * 1e-6);
      }
    state.SetIterationTime(median(step_ms) * 1e-3);
    state.counters["of_matrix"] = median(share);
    state.counters["of_matrix_best"] = *std::max_element(share.begin(), share.end());
    state.counters["matrix_GFLOPs"] = r.flops_per_step / r.ranks[0].products_ns;
  }
}

void recording(benchmark::State& state, const std::string& model, int steps) {
  std::vector<double> ratios;
  bool first = false;
  for (auto _ : state) {
    double ns[2];
    for (const bool on : {first, !first}) {
      Training t = training(model, steps);
      t.record_time = on;
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

BENCHMARK_CAPTURE(step, gpt_micro, std::string("gpt-micro"), 7)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(step, gpt_nano, std::string("gpt-nano"), 40)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(recording, gpt_nano, std::string("gpt-nano"), 18)
    ->Iterations(24)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace shardmark

BENCHMARK_MAIN();
