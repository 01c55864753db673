// Do queues keep their order, and does memory come back when it may? On the CPU device, also with
// queues that run late.
#include "kernels/cpu/device.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace shardmark {
namespace {

Transfer task(std::function<void()> f) {
  return Transfer{{}, {}, {}, 0, [f = std::move(f)] {
                    f();
                    return std::int64_t{0};
                  }};
}

struct Kind {
  bool overlap;
  int late_us;
};
class CpuQueues : public testing::TestWithParam<Kind> {
 protected:
  CpuOptions options() const {
    CpuOptions o;
    o.overlap = GetParam().overlap;
    o.late_us = GetParam().late_us;
    return o;
  }
};

TEST_P(CpuQueues, AnEventOrdersOneQueueAfterTheOther) {
  CpuDevice d(options());
  std::vector<int> order;  // written by both queues: only events keep them apart
  Event last = Event::none();
  for (int i = 0; i < 50; ++i) {
    Queue& q = i % 2 ? d.comm() : d.compute();
    Span span = q.begin(i % 2 ? Phase::reduce : Phase::forward, i, last);
    q.run(task([&order, i] { order.push_back(i); }));
    last = span.end();
  }
  d.drain();
  ASSERT_EQ(order.size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_P(CpuQueues, WaitingOpensNoSpan) {
  CpuDevice d(options());
  d.begin_step(0);
  Span slow = d.comm().begin(Phase::reduce, 0, Event::none());
  d.comm().run(task([] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }));
  const Event after = slow.end();
  Span quick = d.compute().begin(Phase::update, 0, after);
  (void)quick.end();
  d.drain();
  const Interval compute = d.timeline().lane(0).back();
  EXPECT_EQ(compute.phase, Phase::update);
  EXPECT_LT(compute.end_ns - compute.begin_ns, 10'000'000);
  for (int lane : {0, 1})
    for (const Interval& i : d.timeline().lane(lane))
      if (i.phase == Phase::reduce) {
        EXPECT_GE(i.end_ns - i.begin_ns, 30'000'000);
        EXPECT_LE(i.end_ns, compute.begin_ns);
      }
}

TEST_P(CpuQueues, MemoryGivenBackIsUsedAgainOnlyAfterItsEvent) {
  CpuDevice d(options());
  std::atomic<bool> still_read = true, overwritten_early = false;
  Buffer first = d.memory().alloc(1000, DType::f32, Tag::bucket, d.compute());
  const auto address = first.view().address();
  Span reading = d.comm().begin(Phase::reduce, 0, Event::none());
  d.comm().run(task([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    still_read = false;
  }));
  first.give_back(reading.end());
  Buffer second = d.memory().alloc(1000, DType::f32, Tag::bucket, d.compute());
  EXPECT_EQ(second.view().address(), address);
  Span writing =
      d.compute().begin(Phase::backward, 0, Event::none());  // names no event: alloc has seen to it
  d.compute().run(task([&] { overwritten_early = still_read.load(); }));
  (void)writing.end();
  d.drain();
  EXPECT_FALSE(overwritten_early);
}

TEST_P(CpuQueues, AFailureReachesWhoeverWaits) {
  std::atomic<int> told = 0;
  CpuOptions o = options();
  o.on_error = [&](std::exception_ptr) { ++told; };
  CpuDevice d(o);
  const auto fail_and_wait = [&] {
    Span span = d.comm().begin(Phase::reduce, 0, Event::none());
    d.comm().run(task([] { throw Error("the wire is cut"); }));
    const Event e = span.end();
    Span next = d.compute().begin(Phase::update, 0, e);
    (void)next.end();
    d.drain();
  };
  EXPECT_THROW(fail_and_wait(), Error);
  const bool worker =
      GetParam().overlap || GetParam().late_us > 0;  // else the caller itself is told
  EXPECT_EQ(told > 0, worker);
}
INSTANTIATE_TEST_SUITE_P(All, CpuQueues,
                         testing::Values(Kind{false, 0}, Kind{true, 0}, Kind{true, 500},
                                         Kind{false, 500}));

TEST(Ledger, CountsPeaksInProgramOrder) {
  CpuDevice d({});
  Queue& q = d.compute();
  {
    const Buffer a = d.memory().alloc(100, DType::f32, Tag::gradient, q);
    Buffer b = d.memory().alloc(50, DType::f64, Tag::bucket, q);
    b.give_back(Event::none());
    const Buffer c = d.memory().alloc(10, DType::f64, Tag::bucket, q);
    EXPECT_EQ(d.memory().ledger().live(), 400u + 80u);
  }
  const MemoryLedger& l = d.memory().ledger();
  EXPECT_EQ(l.live(), 0u);
  EXPECT_EQ(l.peak(), 800u);
  EXPECT_EQ(l.peaks().at({Tag::gradient, DType::f32}), 400u);
  EXPECT_EQ(l.peaks().at({Tag::bucket, DType::f64}), 400u);
  d.memory().restart_peaks();
  EXPECT_EQ(l.peak(), 0u);
}

TEST(View, RefusesWhatDoesNotFit) {
  CpuDevice d({});
  const Buffer b = d.memory().alloc(10, DType::f32, Tag::workspace, d.compute());
  EXPECT_THROW(b.view().slice({5, 6}), Error);
  EXPECT_THROW(b.view().slice({std::size_t{0} - 1, 2}), Error);
  EXPECT_THROW(b.view().host<double>(), Error);
  EXPECT_EQ(b.view().slice({4, 6}).address() - b.view().address(), 16u);
  EXPECT_TRUE(View{}.host<double>().empty());
}

}  // namespace
}  // namespace shardmark
