// What does a range cost where no profiler is attached? Nanoseconds per open and close, beside a
// loop that does nothing else.
#include <benchmark/benchmark.h>

#include "profilers/nvtx.hpp"

namespace shardmark {
namespace {

void empty_loop(benchmark::State& state) {
  Interval i;
  for (auto _ : state) benchmark::DoNotOptimize(i);
}

void range(benchmark::State& state) {
  Interval i;
  nvtx::Ranges ranges({}, 0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(i);
    benchmark::DoNotOptimize(ranges);
    ranges.open(i);
    benchmark::DoNotOptimize(ranges);
    ranges.close();
  }
}

BENCHMARK(empty_loop);
BENCHMARK(range);

}  // namespace
}  // namespace shardmark

BENCHMARK_MAIN();
