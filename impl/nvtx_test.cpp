// Does a profiler from outside see the steps as they are? The tests' own profiler listens to a
// training; its ranges must be the spans of the same step on the dry device, each on the thread of
// its queue and within its step.
#include "profilers/nvtx.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <tuple>

#include "impl/dry_run.hpp"
#include "impl/models/registry.hpp"
#include "impl/strategies/every_strategy.hpp"
#include "profilers/nvtx_recorder.hpp"
#include "profilers/trace_events.hpp"

namespace shardmark {
namespace {

// One range as it was seen: inside of which, called what, of which category, with how many bytes.
using Range = std::tuple<std::string, std::string, std::string, std::optional<std::uint64_t>>;
using Ranges = std::map<Range, int>;                        // how often
using Threads = std::map<std::string, std::vector<Range>>;  // by name, in the order of their begins

Training tiny(const std::string& strategy, bool overlap, int late_us = 0) {
  Training t;
  t.model = "gpt:layers=2,width=16,heads=2", t.strategy = strategy, t.ranks = 2;
  t.batch = 1, t.sequence = 8, t.warmup = 2, t.steps = 3, t.overlap = overlap, t.late_us = late_us;
  t.options.clip = 1, t.options.accumulate = 2, t.device = test_device;
  for (int i = 0; i < 500; ++i) t.corpus.push_back(static_cast<std::uint8_t>(i % 91));
  return t;
}

class Nvtx : public testing::Test {
 protected:
  // NVTX looks for its tool once a process, at its first call.
  static void SetUpTestSuite() { ::setenv("NVTX_INJECTION64_PATH", SHARDMARK_NVTX_RECORDER, 1); }
  void SetUp() override {
    if (!nvtx::built()) GTEST_SKIP() << nvtx::library();
    if (on_gpu && !cuda::why_none().empty()) GTEST_SKIP() << cuda::why_none();
  }

  NvtxCalls heard(const Training& t) {
    train(t);
    NvtxCalls calls;
    void* recorder = ::dlopen(SHARDMARK_NVTX_RECORDER, RTLD_NOW | RTLD_NOLOAD);
    if (!recorder) throw Error("NVTX did not load the tests' profiler");
    reinterpret_cast<TakeNvtxCalls>(::dlsym(recorder, nvtx_calls_symbol))(&calls);
    return calls;
  }
};

Threads nested(const NvtxCalls& heard) {
  Threads out;
  std::map<std::uint32_t, std::vector<std::string>> open;
  for (const NvtxCalls::Call& c : heard.calls) {
    EXPECT_EQ(c.domain, "shardmark");
    std::vector<std::string>& outer = open[c.thread];
    if (!c.push) {
      EXPECT_FALSE(outer.empty()) << "a range was closed that was not opened";
      if (!outer.empty()) outer.pop_back();
      continue;
    }
    EXPECT_TRUE(c.registered) << c.message;
    std::string within;
    for (const std::string& name : outer) within += (within.empty() ? "" : " > ") + name;
    const auto payload = c.has_payload ? std::optional(c.payload) : std::nullopt;
    out[heard.threads.at(c.thread)].emplace_back(within, c.message, c.category, payload);
    outer.push_back(c.message);
  }
  for (const auto& [thread, outer] : open)
    EXPECT_TRUE(outer.empty()) << outer.front() << " was never closed";
  return out;
}

// What the spans of one step and queue are as ranges.
Ranges expected(const std::vector<SpanCount>& dry, int lane, const std::string& within,
                const std::vector<std::string>& units) {
  Ranges out;
  for (const SpanCount& s : dry) {
    if (s.lane != lane) continue;
    Interval i;
    i.phase = s.phase, i.label = s.label, i.collective = s.collective;
    const bool communicates = s.phase == Phase::reduce || s.phase == Phase::gather;
    const auto bytes = s.collective ? std::optional(s.collective->bytes()) : std::nullopt;
    out[{within, span_name(i, units), communicates ? "communication" : "compute", bytes}] +=
        static_cast<int>(s.count);
  }
  return out;
}

Ranges within(const std::vector<Range>& all, const std::string& outer) {
  Ranges out;
  for (const Range& r : all)
    if (std::get<0>(r) == outer) ++out[r];
  return out;
}

// A communication queue has no ranges of steps. Set-up communicates nothing, and all steps have as
// many collectives, so that a step's are those at its place in the order.
Ranges at_place(const std::vector<Range>& all, int step, const Ranges& like) {
  std::size_t a_step = 0;
  for (const auto& [range, count] : like) a_step += static_cast<std::size_t>(count);
  Ranges out;
  for (std::size_t i = 0; i < a_step; ++i)
    ++out[all.at(static_cast<std::size_t>(step) * a_step + i)];
  return out;
}

// From step 1 on: the dry device has no step of its own for set-up.
void compare(const Training& t, const NvtxCalls& heard) {
  const Threads seen = nested(heard);
  const bool two_threads = t.overlap && !on_gpu;  // else one enqueues both queues
  EXPECT_EQ(seen.size(), two_threads ? 4u : 2u);
  std::vector<std::string> units;
  for (const Unit& u : make_architecture(t.model, t.sequence, t.batch).units)
    units.push_back(u.name);
  const int steps = t.warmup + t.steps + 1;
  for (int rank = 0; rank < t.ranks; ++rank) {
    const std::string name = "rank " + std::to_string(rank);
    SCOPED_TRACE(t.strategy + ", " + name);
    const auto dry = span_counts(dry_run(t, {.rank = rank, .steps = steps}).timeline, 1, steps - 1);
    const auto& compute = seen.at(name + (two_threads ? " compute" : " compute and communication"));
    for (int step = 1; step < steps; ++step) {
      const auto& spans = dry[static_cast<std::size_t>(step - 1)];
      const std::string outer = "step " + std::to_string(step);
      EXPECT_EQ(within(compute, "").at({"", outer, "step", std::nullopt}), 1);
      Ranges of_thread = expected(spans, 0, outer, units);
      if (!two_threads) of_thread.merge(expected(spans, 1, outer, units));
      EXPECT_EQ(within(compute, outer), of_thread) << outer;
      if (!two_threads) continue;
      const Ranges collectives = expected(spans, 1, "", units);
      EXPECT_GT(collectives.size(), 2u);
      EXPECT_EQ(at_place(seen.at(name + " communication"), step, collectives), collectives);
    }
  }
}

TEST_F(Nvtx, RangesAreTheSpansOfTheDryStep) {
  for (const bool overlap : {false, true})
    for (const char* strategy : {"ddp", "zero3"}) {
      const Training t = tiny(strategy, overlap);
      compare(t, heard(t));
    }
}

TEST_F(Nvtx, RangesNestOnQueuesThatRunLate) {
  const Training t = tiny("zero2", true, 50);
  compare(t, heard(t));
}

// Back-propagation goes through the units backwards, and the claim knows what ddp reduces.
TEST_F(Nvtx, AStepReadsAsItIsDoneAndItsCollectivesSayTheirBytes) {
  Training t = tiny("ddp", false);
  t.options = {};
  std::vector<std::string> of_units;
  std::uint64_t bytes = 0;
  const Threads seen = nested(heard(t));
  for (const auto& [within, name, category, payload] :
       seen.at("rank 1 compute and communication")) {
    if (within != "step 3") continue;
    if (name.starts_with("forward ") || name.starts_with("backward ")) of_units.push_back(name);
    if (category == "communication") bytes += payload.value();
  }
  EXPECT_EQ(of_units,
            (std::vector<std::string>{"forward embedding", "forward block 0", "forward block 1",
                                      "forward head", "backward head", "backward block 1",
                                      "backward block 0", "backward embedding"}));
  std::uint64_t claimed = 0;
  for (const auto& [what, traffic] : claims_of(t).exact_calls) claimed += traffic.payload;
  EXPECT_GT(bytes, 0u);
  EXPECT_EQ(bytes, claimed);
}

// A profiler keeps every string for good.
TEST_F(Nvtx, AStringIsRegisteredOnceAQueue) {
  const Training t = tiny("zero3", true);
  const NvtxCalls calls = heard(t);
  EXPECT_GT(calls.registrations.size(), 20u);
  for (const auto& [text, times] : calls.registrations) EXPECT_EQ(times, t.ranks) << text;
}

}  // namespace
}  // namespace shardmark
