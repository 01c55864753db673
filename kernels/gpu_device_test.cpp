// Does a GPU's device keep order, memory and time as it says? On the stand-in, whose streams run
// late: what is only right when the GPU is quick goes wrong here.
#include <gtest/gtest.h>

#include <thread>

#include "kernels/cuda/device.hpp"

namespace shardmark {
namespace {

using cuda::make_device;

std::unique_ptr<Device> device(bool overlap = true) {
  cuda::Options o;
  o.overlap = overlap;
  return make_device(std::move(o));
}

ConstView host_view(const std::vector<float>& v) {
  return {reinterpret_cast<std::uintptr_t>(v.data()), v.size(), DType::f32, Space::host};
}

Event put(Queue& q, const std::vector<float>& from, View to, Event after = Event::none()) {
  Span span = q.begin(Phase::forward, 0, after);
  q.run(Cast{host_view(from), to});
  return span.end();
}

Event add(Queue& q, ConstView from, View to, Event after) {
  Span span = q.begin(Phase::forward, 1, after);
  q.run(Add{from, to});
  return span.end();
}

class Gpu : public ::testing::Test {
 protected:
  // The stand-in's clock is a fiftieth too fast.
  static void SetUpTestSuite() {
    setenv("SHARDMARK_STANDIN", "gpus=1,late_us=20,drift_ppm=20000", 1);
  }
  void SetUp() override {
    if (const std::string why = cuda::why_none(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(Gpu, SaysWhatItIs) {
  ASSERT_FALSE(cuda::gpus().empty());
  EXPECT_GT(cuda::gpus()[0].memory_bytes, 0u);
  EXPECT_GT(cuda::gpus()[0].multiprocessors, 0);
}

// The host's memory is free again at once, whenever the GPU comes to read it.
TEST_F(Gpu, WhatTheHostHandsOverMayChangeBehindTheCall) {
  const auto d = device();
  const Buffer b = d->memory().alloc(1000, DType::f32, Tag::workspace, d->compute());
  const Buffer sum = d->memory().alloc(1000, DType::f32, Tag::workspace, d->compute());
  Span clear = d->compute().begin(Phase::forward, 0, Event::none());
  d->compute().run(Clear{sum.view()});
  (void)clear.end();
  std::vector<float> values(1000);
  for (int i = 1; i <= 20; ++i) {
    values.assign(1000, static_cast<float>(i));
    put(d->compute(), values, b.view());
    add(d->compute(), b.view(), sum.view(), Event::none());
  }
  values.assign(1000, -1e6f);
  EXPECT_EQ(d->fetch<float>(sum.view()), std::vector<float>(1000, 210.0f));
}

TEST_F(Gpu, AQueueComesAfterWhatItIsToldTo) {
  for (const bool overlap : {true, false}) {
    const auto d = device(overlap);
    const Buffer a = d->memory().alloc(64, DType::f32, Tag::workspace, d->compute());
    const Buffer b = d->memory().alloc(64, DType::f32, Tag::workspace, d->compute());
    Event last = put(d->compute(), std::vector<float>(64, 0.0f), b.view());
    for (int i = 1; i <= 10; ++i) {
      const Event written = put(d->compute(), std::vector<float>(64, 1.0f), a.view(), last);
      last = add(d->comm(), a.view(), b.view(), written);
    }
    EXPECT_EQ(d->fetch<float>(b.view()), std::vector<float>(64, 10.0f)) << overlap;
  }
}

// Memory that is given back is written again only behind its last reader, on whatever queue.
TEST_F(Gpu, MemoryIsUsedAgainBehindItsLastUse) {
  const auto d = device();
  Buffer sum = d->memory().alloc(64, DType::f32, Tag::workspace, d->compute());
  Event last = put(d->comm(), std::vector<float>(64, 0.0f), sum.view());
  std::uintptr_t first = 0;
  for (int i = 1; i <= 10; ++i) {
    Buffer b = d->memory().alloc(64, DType::f32, Tag::gathered, d->compute());
    if (i == 1) first = b.view().address();
    EXPECT_EQ(b.view().address(), first);
    const Event written =
        put(d->compute(), std::vector<float>(64, static_cast<float>(i)), b.view());
    last = add(d->comm(), b.view(), sum.view(), written | last);
    b.give_back(last);
  }
  EXPECT_EQ(d->fetch<float>(sum.view()), std::vector<float>(64, 55.0f));
  EXPECT_EQ(d->memory().ledger().peak(), 512u);
  EXPECT_EQ(cuda::reserved_bytes(*d), 1024u);  // two times what the driver gives at least
}

TEST_F(Gpu, TheTimelineIsInOrderAndOnTheClockOfTheHost) {
  const auto d = device();
  const Buffer a = d->memory().alloc(64, DType::f32, Tag::workspace, d->compute());
  const std::int64_t before = now_ns();
  Event last = Event::none();
  for (int step = 0; step < 5; ++step) {
    d->begin_step(step);
    for (Queue* q : {&d->compute(), &d->comm()})
      last = put(*q, std::vector<float>(64, 1.0f), a.view(), last);
  }
  d->drain();
  const std::int64_t after = now_ns();
  std::vector<Interval> all;
  for (const int lane : {0, 1}) {
    ASSERT_EQ(d->timeline().lane(lane).size(), 5u);
    for (int step = 0; step < 5; ++step)
      EXPECT_EQ(d->timeline().lane(lane)[static_cast<std::size_t>(step)].step, step);
  }
  constexpr std::int64_t tolerance = 2'000;  // of events, in float milliseconds
  std::int64_t end = before - 1'000'000;     // where the two clocks met, a thread had to wake
  for (std::size_t i = 0; i < 5; ++i)
    for (const int lane : {0, 1}) {
      const Interval& one = d->timeline().lane(lane)[i];
      EXPECT_GE(one.begin_ns, end - tolerance);
      EXPECT_LE(one.begin_ns, one.end_ns);
      end = one.end_ns;
    }
  EXPECT_LE(end, after + 1'000'000);
  EXPECT_EQ(d->timeline().lane(1)[4].after[0], 5u);
}

// However long it trains: oscillators differ, and spans of other GPUs are compared with these.
TEST_F(Gpu, SpansStayWhereTheHostSawThem) {
  const auto d = device();
  const Buffer a = d->memory().alloc(64, DType::f32, Tag::workspace, d->compute());
  constexpr std::size_t drains = 2, steps = 3;  // between two drains, in which 6 ms are gained
  std::vector<std::int64_t> before, drained;
  while (drained.size() < drains) {
    for (std::size_t i = 0; i < steps; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      d->begin_step(static_cast<int>(before.size()));
      before.push_back(now_ns());
      for (Queue* q : {&d->compute(), &d->comm()}) put(*q, std::vector<float>(64, 1.0f), a.view());
    }
    d->drain();
    drained.push_back(now_ns());
  }
  constexpr std::int64_t tolerance = 1'000'000;  // a thread had to wake
  for (const int lane : {0, 1}) {
    const std::vector<Interval>& all = d->timeline().lane(lane);
    ASSERT_EQ(all.size(), before.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_GE(all[i].begin_ns, before[i] - tolerance) << i;
      EXPECT_LE(all[i].begin_ns, all[i].end_ns);
      EXPECT_LE(all[i].end_ns, drained[i / steps] + tolerance) << i;
    }
  }
}

TEST_F(Gpu, WhatAHostFunctionThrowsEndsTheRank) {
  cuda::Options o;
  o.on_span = [](const Interval& i) {
    if (i.label == 7) throw Error("injected");
  };
  const auto d = make_device(std::move(o));
  Span span = d->compute().begin(Phase::forward, 7, Event::none());
  (void)span.end();
  EXPECT_THROW(d->drain(), Error);
}

TEST_F(Gpu, AFailureOfAnotherRankEndsAWait) {
  cuda::Options o;
  bool failed = false;
  o.poll = [&] {
    if (failed) throw Error("rank 1 failed");
  };
  o.on_span = [](const Interval&) { std::this_thread::sleep_for(std::chrono::seconds(2)); };
  const auto d = make_device(std::move(o));
  Span span = d->compute().begin(Phase::forward, 0, Event::none());
  (void)span.end();
  failed = true;
  const std::int64_t begin = now_ns();
  EXPECT_THROW(d->drain(), Error);
  EXPECT_LT(now_ns() - begin, 1'000'000'000);
}

TEST_F(Gpu, AQueueThatStandsStillIsGivenUp) {
  cuda::Options o;
  o.timeout_s = 0.1;
  o.on_span = [](const Interval&) { std::this_thread::sleep_for(std::chrono::seconds(1)); };
  const auto d = make_device(std::move(o));
  Span span = d->compute().begin(Phase::forward, 0, Event::none());
  (void)span.end();
  EXPECT_THROW(d->drain(), Error);
}

// What lies unused is given back to the driver before anybody is told that there is no more.
TEST_F(Gpu, MemoryEndsInASentence) {
  const auto d = device();
  const std::size_t half = cuda::gpus()[0].memory_bytes / 4 / 2;  // elements
  Buffer a = d->memory().alloc(half, DType::f32, Tag::parameter, d->compute());
  a.give_back(Event::none());
  Buffer b = d->memory().alloc(half + 1000, DType::f32, Tag::parameter, d->compute());
  EXPECT_EQ(b.view().size(), half + 1000);
  try {
    (void)d->memory().alloc(half, DType::f32, Tag::gradient, d->compute());
    FAIL() << "there is no such memory";
  } catch (const Error& e) {
    const std::string said = e.what();
    EXPECT_NE(said.find("out of device memory: "), said.npos) << said;
    EXPECT_NE(said.find("GPU 0 (" + cuda::gpus()[0].name + ")"), said.npos) << said;
  }
  EXPECT_EQ(d->memory().ledger().live(), b.view().bytes());
}

// Nothing ends behind a span that is open: who waited for it would be told of the wait.
TEST_F(Gpu, MemoryEndsInThatSentenceInsideASpanToo) {
  cuda::Options o;
  o.timeout_s = 0.1;
  const auto d = make_device(std::move(o));
  Span span = d->comm().begin(Phase::gather, 0, Event::none());
  try {
    (void)d->memory().alloc(cuda::gpus()[0].memory_bytes, DType::f32, Tag::gathered, d->comm());
    FAIL() << "there is no such memory";
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).find("out of device memory: "), 0u) << e.what();
  }
  (void)span.end();
  d->drain();
}

TEST_F(Gpu, OneThatIsNotThereIsRefused) {
  cuda::Options o;
  o.gpu = static_cast<int>(cuda::gpus().size());
  EXPECT_THROW(make_device(std::move(o)), InputError);
}

TEST_F(Gpu, FetchesWhatIsNarrowAsFloats) {
  const auto d = device();
  const Buffer wide = d->memory().alloc(3, DType::f32, Tag::workspace, d->compute()),
               narrow = d->memory().alloc(3, DType::bf16, Tag::workspace, d->compute());
  const Event written = put(d->compute(), {1.0f, -2.5f, 0.00390625f}, wide.view());
  Span span = d->comm().begin(Phase::forward, 0, written);
  d->comm().run(Cast{wide.view(), narrow.view()});
  (void)span.end();
  EXPECT_EQ(d->fetch_f32(narrow.view()), (std::vector<float>{1.0f, -2.5f, 0.00390625f}));
  for (const int lane : {0, 1})
    EXPECT_EQ(d->timeline().lane(lane).size(), 1u) << "to fetch is no work of a step";
  EXPECT_EQ(d->memory().ledger().live(), wide.view().bytes() + narrow.view().bytes());
}

// Marks order streams of two devices, as ranks that are threads need it.
TEST_F(Gpu, AnotherDevicesStreamWaitsForAMark) {
  const auto a = device(), b = device();
  const Buffer x = a->memory().alloc(64, DType::f32, Tag::workspace, a->compute()),
               y = b->memory().alloc(64, DType::f32, Tag::workspace, b->compute());
  for (int i = 1; i <= 10; ++i) {
    put(a->compute(), std::vector<float>(64, static_cast<float>(i)), x.view());
    const cuda::Mark written = cuda::mark(a->compute());
    Span span = b->compute().begin(Phase::gather, 0, Event::none());
    cuda::wait_for(b->compute(), written);
    b->compute().run(Cast{x.view(), y.view()});
    (void)span.end();
    cuda::wait_for(a->compute(), cuda::mark(b->compute()));
    EXPECT_EQ(b->fetch<float>(y.view()), std::vector<float>(64, static_cast<float>(i)));
  }
}

}  // namespace
}  // namespace shardmark
