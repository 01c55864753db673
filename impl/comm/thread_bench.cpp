// How close do the verbs on thread ranks come to the memory's own speed? Each against a streaming
// copy by as many threads, run in turn with it on buffers that no cache holds (1 MiB: against
// memcpy, on buffers that one may hold).
//
// traffic: bytes a verb must read and write per rank: reduce-scatter in place S (1 + 1/N),
// all-gather 2 S (N-1)/N, composed all-reduce their sum, direct all-reduce 2 S. of_copy: traffic /
// time over the copy's bytes read and written / time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>

#include "impl/comm/thread.hpp"
#include "kernels/cpu/cores.hpp"
#include "kernels/cpu/device.hpp"
#include "kernels/cpu/math.hpp"

namespace shardmark {
namespace {

enum Which : int { reduce_scatter, all_gather, all_reduce_composed, all_reduce_direct };

struct Bench {
  int which, ranks;
  std::size_t bytes, iterations;
  std::size_t elements() const { return bytes / 4; }
  bool cold() const { return bytes > (std::size_t{1} << 20); }
  // Buffers that are used in turn, so that none is in a cache when its turn comes.
  std::size_t sets() const {
    return cold() ? std::max<std::size_t>(
                        2, (std::size_t{256} << 20) / (bytes * static_cast<std::size_t>(ranks)) + 1)
                  : 1;
  }
  double traffic() const {
    const double s = static_cast<double>(bytes), n = ranks;
    const double scatter = s * (1 + 1 / n), gather = 2 * s * (n - 1) / n;
    return which == reduce_scatter        ? scatter
           : which == all_gather          ? gather
           : which == all_reduce_composed ? scatter + gather
                                          : 2 * s;
  }
  double factor() const {
    return (which <= all_gather ? 1.0 : 2.0) * (ranks - 1) / ranks;
  }  // busbw / algbw
};

// By iteration. Ranks that share a core take turns, so the time of all is from the first one's
// begin to the last one's end.
struct Stretch {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
  void cover(const Stretch& o) {
    begin = std::min(begin, o.begin);
    end = std::max(end, o.end);
  }
};
struct Times {
  std::vector<Stretch> verb, copy;
  explicit Times(std::size_t n) : verb(n), copy(n) {}
};

class RankBench {
 public:
  RankBench(const Bench& b, ThreadHub& hub, int rank)
      : b_(b),
        world_(hub, rank),
        device_(options()),
        comm_(device_, world_,
              b.which == all_reduce_direct ? Options::AllReduce::direct
                                           : Options::AllReduce::composed) {
    for (std::size_t i = 0; i < b.sets(); ++i)
      for (auto* buffers : {&arrays_, &sources_, &copies_}) {
        buffers->push_back(
            device_.memory().alloc(b.elements(), DType::f32, Tag::workspace, device_.compute()));
        std::ranges::fill(buffers->back().view().host<float>(), 1.0f);
      }
  }

  void run(Times& mine) {
    for (std::size_t i = 0; i < b_.iterations; ++i) {
      const View array = arrays_[i % b_.sets()].view(), to = copies_[i % b_.sets()].view();
      const View from = sources_[i % b_.sets()].view();
      mine.verb[i] = timed([&] { verb(array); });
      mine.copy[i] = timed([&] { b_.cold() ? cpu::stream_copy(from, to) : plain_copy(from, to); });
    }
  }

 private:
  static CpuOptions options() {
    CpuOptions o;
    o.overlap = false, o.record = false;
    return o;
  }
  static void plain_copy(ConstView from, View to) {
    std::memcpy(to.host<float>().data(), from.host<float>().data(), to.bytes());
  }
  template <class F>
  Stretch timed(F f) {
    (void)world_.gather("");
    const std::int64_t begin = now_ns();
    f();
    return {begin, now_ns()};
  }
  void verb(View whole) {
    const std::size_t part = whole.size() / static_cast<std::size_t>(b_.ranks);
    const View mine = whole.slice({static_cast<std::size_t>(comm_.rank()) * part, part});
    const Reduce mean{Reduce::Op::mean, DType::f32};
    if (b_.which == reduce_scatter)
      (void)comm_.reduce_scatter(whole, mine, mean, 0, Event::none());
    else if (b_.which == all_gather)
      (void)comm_.all_gather(mine, whole, 0, Event::none());
    else
      (void)comm_.all_reduce(whole, mean, 0, Event::none());
  }

  const Bench& b_;
  ThreadWorld world_;
  CpuDevice device_;
  ThreadCommunicator comm_;
  std::vector<Buffer> arrays_, sources_, copies_;
};

Times measure(const Bench& b) {
  ThreadHub hub(b.ranks, 60, spin_ns(b.ranks, usable_cores()));
  std::vector<Times> by_rank(static_cast<std::size_t>(b.ranks), Times(b.iterations));
  std::vector<std::thread> threads;
  for (int r = 0; r < b.ranks; ++r)
    threads.emplace_back(
        [&, r] { RankBench(b, hub, r).run(by_rank[static_cast<std::size_t>(r)]); });
  for (std::thread& t : threads) t.join();
  Times all(b.iterations);
  for (const Times& t : by_rank)
    for (std::size_t i = 0; i < b.iterations; ++i) {
      all.verb[i].cover(t.verb[i]);
      all.copy[i].cover(t.copy[i]);
    }
  return all;
}

double median_ns(const std::vector<Stretch>& all) {
  std::vector<std::int64_t> ns;
  for (const Stretch& s : all) ns.push_back(s.end - s.begin);
  std::sort(ns.begin(), ns.end());
  return static_cast<double>(ns[ns.size() / 2]);
}

void verb(benchmark::State& state, int which) {
  const Bench b{which, static_cast<int>(state.range(0)),
                static_cast<std::size_t>(state.range(1)) << 20,
                static_cast<std::size_t>(state.max_iterations)};
  const Times t = measure(b);
  std::size_t i = 0;
  for (auto _ : state) {
    state.SetIterationTime(static_cast<double>(t.verb[i].end - t.verb[i].begin) * 1e-9);
    ++i;
  }
  const double verb_ns = median_ns(t.verb), copy_ns = median_ns(t.copy);
  const double traffic = b.traffic() / verb_ns, copy = 2.0 * static_cast<double>(b.bytes) / copy_ns;
  state.counters["algbw_GBps"] = static_cast<double>(b.bytes) / verb_ns;
  state.counters["busbw_GBps"] = static_cast<double>(b.bytes) / verb_ns * b.factor();
  state.counters["traffic_GBps"] = traffic;
  state.counters["copy_GBps"] = copy;
  state.counters["of_copy"] = traffic / copy;
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"ranks", "MiB"})->UseManualTime()->Unit(benchmark::kMicrosecond);
  for (int ranks : {2, 4})
    for (int mib : {1, 16, 64}) b->Args({ranks, mib});
}
BENCHMARK_CAPTURE(verb, reduce_scatter, reduce_scatter)->Apply(sizes)->Iterations(41);
BENCHMARK_CAPTURE(verb, all_gather, all_gather)->Apply(sizes)->Iterations(41);
BENCHMARK_CAPTURE(verb, all_reduce_composed, all_reduce_composed)->Apply(sizes)->Iterations(41);
BENCHMARK_CAPTURE(verb, all_reduce_direct, all_reduce_direct)->Apply(sizes)->Iterations(41);

}  // namespace
}  // namespace shardmark

BENCHMARK_MAIN();
