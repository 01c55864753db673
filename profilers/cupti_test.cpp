// Does CUPTI's recorder keep what a GPU did, and say so where it cannot? A libcupti without a GPU
// plays it (cupti_standin.cpp); the real one, where there is one, walks a buffer that is made here.
#include "profilers/cupti.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "profilers/cupti_records.hpp"
#include "profilers/cupti_standin.hpp"

namespace shardmark {
namespace {

using What = CuptiStandin::What;

class Cupti : public testing::Test {
 protected:
  void SetUp() override {
    void* library = ::dlopen(SHARDMARK_CUPTI_STANDIN, RTLD_NOW);
    ASSERT_TRUE(library) << ::dlerror();
    gpu = reinterpret_cast<GetCuptiStandin>(::dlsym(library, cupti_standin_symbol))();
    gpu->reset({});
  }
  void in_span(cupti::Recorder& r, SpanNumber n, const CuptiStandin::Work& work) {
    r.open(n);
    gpu->enqueue(work);
    r.close();
  }
  CuptiStandin* gpu = nullptr;
};

TEST_F(Cupti, RecordsWhatWasEnqueuedInASpan) {
  cupti::Recorder recorder(SHARDMARK_CUPTI_STANDIN);
  ASSERT_TRUE(recorder.recording()) << recorder.why_not();
  gpu->enqueue({What::kernel, 1, 2, 0, "before any span"});
  in_span(recorder, {3, 0, 1}, {What::kernel, 10, 30, 7, "gemm"});
  in_span(recorder, {3, 1, 1}, {What::kernel_by_driver, 20, 50, 8, "ncclDevKernel_AllGather"});
  in_span(recorder, {3, 0, 2}, {What::copy, 40, 44, 7, "", 4096});
  in_span(recorder, {3, 1, 2}, {What::copy_to_peer, 60, 66, 8, "", 512});
  in_span(recorder, {3, 0, 3}, {What::set, 70, 71, 7, "", 64});
  gpu->enqueue({What::kernel, 72, 75, 0, "behind them"});
  const auto all = recorder.activities();
  ASSERT_EQ(all->kernels.size(), 4u);
  EXPECT_EQ(all->kernels[1].name, "gemm");
  EXPECT_EQ(all->kernels[1].begin_ns, 10);
  EXPECT_EQ(all->kernels[1].end_ns, 30);
  EXPECT_EQ(all->kernels[1].stream, 7u);
  ASSERT_EQ(all->copies.size(), 2u);
  EXPECT_EQ(all->copies[0].direction, Activities::Direction::to_device);
  EXPECT_EQ(all->copies[0].bytes, 4096u);
  EXPECT_EQ(all->copies[1].direction, Activities::Direction::between_devices);
  EXPECT_EQ(all->copies[1].end_ns, 66);
  ASSERT_EQ(all->sets.size(), 1u);
  EXPECT_EQ(all->sets[0].bytes, 64u);
  EXPECT_EQ(all->calls.size(), 6u);  // of the runtime; the driver's only correlate
  EXPECT_EQ(all->calls[0].thread, 17u);

  Timeline spans;
  for (const Phase p : {Phase::forward, Phase::backward, Phase::update}) spans.add(0, {0, 0, p});
  for (const Phase p : {Phase::gather, Phase::reduce}) spans.add(1, {0, 0, p});
  const Attributed a = attribute(*all, 3, spans);
  EXPECT_EQ(a.activities, (Attributed::Sum{5, 20 + 30 + 4 + 6 + 1}));
  EXPECT_EQ(a.nccl, (Attributed::Sum{1, 30}));
  EXPECT_EQ(a.unattributed, (Attributed::Sum{1, 3}));  // what was set up before is nobody's
  EXPECT_EQ(a.timeline.lane(1)[1].begin_ns, 60);
  EXPECT_EQ(a.idle_spans, 0u);
}

// Two queues of one thread, and of two: what is open is known a thread.
TEST_F(Cupti, SpansOfOtherThreadsAreNotInTheWay) {
  cupti::Recorder recorder(SHARDMARK_CUPTI_STANDIN);
  recorder.open({0, 0, 1});
  std::thread([&] { in_span(recorder, {1, 0, 1}, {What::kernel, 10, 20}); }).join();
  gpu->enqueue({What::kernel, 30, 33});
  recorder.close();
  Timeline one;
  one.add(0, {});
  const auto all = recorder.activities();
  EXPECT_EQ(attribute(*all, 0, one).activities, (Attributed::Sum{1, 3}));
  EXPECT_EQ(attribute(*all, 1, one).activities, (Attributed::Sum{1, 10}));
}

TEST_F(Cupti, ManyBuffersAreReadAndGivenBack) {
  gpu->reset({.records_a_buffer = 7});
  cupti::Recorder recorder(SHARDMARK_CUPTI_STANDIN);
  for (std::uint64_t i = 1; i <= 100; ++i) in_span(recorder, {0, 0, i}, {What::kernel, 5, 6});
  EXPECT_EQ(recorder.activities()->kernels.size(), 100u);
  in_span(recorder, {0, 0, 101}, {What::kernel, 5, 6});
  EXPECT_EQ(recorder.activities()->kernels.size(), 101u);
  EXPECT_EQ(recorder.activities(), recorder.activities());  // nothing new: no copy
  EXPECT_EQ(gpu->seen().buffers_out, 0u);
}

TEST_F(Cupti, WhatIsDroppedOrUnreadableIsCounted) {
  gpu->reset({.drops = 4, .spoils = true});
  cupti::Recorder recorder(SHARDMARK_CUPTI_STANDIN);
  in_span(recorder, {0, 0, 1}, {What::kernel, 5, 6});
  EXPECT_EQ(recorder.activities()->dropped, 4u);
  EXPECT_EQ(recorder.activities()->dropped, 4u);  // each is dropped once
  EXPECT_EQ(recorder.activities()->unreadable, 1u);
}

TEST_F(Cupti, TimesAreOfOurClock) {
  cupti::Recorder recorder(SHARDMARK_CUPTI_STANDIN);
  const auto before = static_cast<std::uint64_t>(now_ns());
  const std::uint64_t told = gpu->seen().clock_ns;
  EXPECT_GE(told, before);
  EXPECT_LE(told, static_cast<std::uint64_t>(now_ns()));
}

TEST_F(Cupti, AnotherProfilerIsSaidAndNothingBreaks) {
  gpu->reset({.subscribe = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED});
  cupti::Recorder recorder(SHARDMARK_CUPTI_STANDIN);
  EXPECT_FALSE(recorder.recording());
  EXPECT_EQ(recorder.why_not(),
            "CUPTI records nothing: another profiler or debugger (Nsight Systems, Nsight Compute, "
            "cuda-gdb) watches this process, and CUPTI serves one at a time.");
  in_span(recorder, {0, 0, 1}, {What::kernel, 5, 6});
  EXPECT_TRUE(recorder.activities()->kernels.empty());
}

TEST_F(Cupti, WhatCuptiRefusesIsSaidAndUndone) {
  gpu->reset({.enable = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES});
  {
    cupti::Recorder recorder(SHARDMARK_CUPTI_STANDIN);
    EXPECT_EQ(recorder.why_not(),
              "CUPTI records nothing: cuptiActivityEnable answers "
              "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES.");
    EXPECT_FALSE(gpu->seen().subscribed);
  }
  gpu->reset({});
  EXPECT_TRUE(cupti::Recorder(SHARDMARK_CUPTI_STANDIN).recording());
}

TEST_F(Cupti, OneRecorderAProcessAndThenTheNext) {
  {
    cupti::Recorder first(SHARDMARK_CUPTI_STANDIN);
    in_span(first, {0, 0, 1}, {What::kernel, 5, 6});
    EXPECT_EQ(cupti::Recorder(SHARDMARK_CUPTI_STANDIN).why_not(),
              "CUPTI records nothing: this process has a recorder already.");
    EXPECT_TRUE(first.recording());
    EXPECT_GT(gpu->seen().enabled, 4u);
  }
  EXPECT_FALSE(gpu->seen().subscribed);
  EXPECT_EQ(gpu->seen().enabled, 0u);
  cupti::Recorder second(SHARDMARK_CUPTI_STANDIN);
  ASSERT_TRUE(second.recording()) << second.why_not();
  EXPECT_TRUE(second.activities()->kernels.empty());
}

TEST_F(Cupti, ALibraryThatIsNotThereIsNamed) {
  const cupti::Recorder recorder("./no-libcupti.so");
  EXPECT_FALSE(recorder.recording());
  EXPECT_TRUE(recorder.why_not().starts_with(
      "CUPTI records nothing: libcupti, which the CUDA Toolkit has, could not be loaded: "))
      << recorder.why_not();
  EXPECT_NE(recorder.why_not().find("no-libcupti.so"), std::string::npos);
}

template <class Record>
void put(std::vector<std::uint8_t>& buffer, const Record& r) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&r);
  buffer.insert(buffer.end(), bytes, bytes + sizeof r);
}

// libcupti walks records of its own version, which is this header's.
TEST(CuptiRecords, AreReadInTheStepsThatTheRealLibraryTakes) {
  void* library = ::dlopen(SHARDMARK_CUPTI_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) GTEST_SKIP() << "there is no libcupti here: " << ::dlerror();
  const auto next =
      reinterpret_cast<cupti::NextRecord>(::dlsym(library, "cuptiActivityGetNextRecord"));
  ASSERT_TRUE(next);
#if CUPTI_API_VERSION >= 130000
  CUpti_ActivityKernel10 kernel{};
  CUpti_ActivityMemcpy6 copy{};
#else
  CUpti_ActivityKernel9 kernel{};
  CUpti_ActivityMemcpy5 copy{};
#endif
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, kernel.name = "adamw";
  kernel.start = 100, kernel.end = 140, kernel.correlationId = 6, kernel.streamId = 13;
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY, copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  copy.start = 150, copy.end = 151, copy.bytes = 8, copy.correlationId = 7;
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET, set.bytes = 32, set.start = 160, set.end = 163;
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME, call.start = 90, call.end = 95, call.threadId = 4;
  CUpti_ActivityExternalCorrelation ours{}, foreign{};
  ours.kind = foreign.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  ours.externalKind = cupti::of_spans, ours.externalId = 77, ours.correlationId = 6;
  foreign.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_OPENACC;
  std::vector<std::uint8_t> buffer;
  put(buffer, ours), put(buffer, call), put(buffer, kernel), put(buffer, foreign);
  put(buffer, copy), put(buffer, set), put(buffer, kernel);
  Activities a;
  cupti::read_records(buffer.data(), buffer.size(), next, a);
  EXPECT_EQ(a.unreadable, 0u);
  ASSERT_EQ(a.kernels.size(), 2u);
  EXPECT_EQ(a.kernels[1].name, "adamw");
  EXPECT_EQ(a.kernels[1].begin_ns, 100);
  EXPECT_EQ(a.kernels[1].end_ns, 140);
  EXPECT_EQ(a.kernels[1].correlation, 6u);
  EXPECT_EQ(a.kernels[1].stream, 13u);
  ASSERT_EQ(a.copies.size(), 1u);
  EXPECT_EQ(a.copies[0].direction, Activities::Direction::to_host);
  EXPECT_EQ(a.copies[0].bytes, 8u);
  EXPECT_EQ(a.copies[0].correlation, 7u);
  ASSERT_EQ(a.sets.size(), 1u);
  EXPECT_EQ(a.sets[0].end_ns, 163);
  ASSERT_EQ(a.calls.size(), 1u);
  EXPECT_EQ(a.calls[0].thread, 4u);
  ASSERT_EQ(a.externals.size(), 1u);
  EXPECT_EQ(a.externals[0].span, 77u);
}

}  // namespace
}  // namespace shardmark
