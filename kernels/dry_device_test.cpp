// Does the order check see what is not ordered, and nothing else? And does the virtual clock
// overlap what may overlap?
#include "kernels/dry/device.hpp"

#include <gtest/gtest.h>

namespace shardmark {
namespace {

Event run(Queue& q, Phase p, Op op, Event after) {
  Span span = q.begin(p, 0, after);
  q.run(std::move(op));
  return span.end();
}

struct DryOrder : testing::Test {
  DryDevice d{true, {[](const Op& op) { return DryRates{100, 1, 1}.ns(op); }}};
  Buffer a = d.memory().alloc(100, DType::f32, Tag::workspace, d.compute());
  Buffer b = d.memory().alloc(100, DType::f32, Tag::workspace, d.compute());
};

TEST_F(DryOrder, AcceptsWhatIsOrderedByAnEvent) {
  const Event written = run(d.compute(), Phase::backward, Clear{a.view()}, Event::none());
  const Event sent = run(d.comm(), Phase::reduce, Cast{a.view(), b.view()}, written);
  run(d.compute(), Phase::update, Add{b.view(), a.view()}, sent);
  EXPECT_TRUE(d.violations().empty());
}

TEST_F(DryOrder, SeesAReadThatIsNotOrderedAfterItsWrite) {
  run(d.compute(), Phase::backward, Clear{a.view()}, Event::none());
  run(d.comm(), Phase::reduce, Cast{a.view(), b.view()}, Event::none());
  ASSERT_EQ(d.violations().size(), 1u);
  EXPECT_EQ(d.violations()[0], "cast reads what clear writes, and is not ordered after it");
}

TEST_F(DryOrder, SeesAWriteThatIsNotOrderedAfterARead) {
  run(d.comm(), Phase::reduce, Cast{a.view(), b.view()}, Event::none());
  run(d.compute(), Phase::update, Clear{a.view()}, Event::none());
  ASSERT_EQ(d.violations().size(), 1u);
  EXPECT_EQ(d.violations()[0], "clear writes what cast reads, and is not ordered after it");
}

TEST_F(DryOrder, KnowsOrderThatGoesThroughTheOtherQueue) {
  const Event first = run(d.compute(), Phase::backward, Clear{a.view()}, Event::none());
  const Event second = run(d.comm(), Phase::reduce, Clear{b.view()}, first);
  const Event third = run(d.compute(), Phase::update, Cast{b.view(), a.view()}, second);
  run(d.comm(), Phase::gather, Cast{a.view(), b.view()}, third);
  EXPECT_TRUE(d.violations().empty());
}

TEST_F(DryOrder, LooksAtBytesNotAtBuffers) {
  run(d.compute(), Phase::backward, Clear{a.view().slice({0, 50})}, Event::none());
  run(d.comm(), Phase::reduce, Clear{a.view().slice({50, 50})}, Event::none());
  EXPECT_TRUE(d.violations().empty());
  run(d.comm(), Phase::reduce, Clear{a.view().slice({49, 1})}, Event::none());
  EXPECT_EQ(d.violations().size(), 1u);
}

TEST_F(DryOrder, SeesMemoryThatWasGivenBack) {
  const View gone = a.view();
  a.give_back(Event::none());
  run(d.compute(), Phase::forward, Cast{gone, b.view()}, Event::none());
  ASSERT_EQ(d.violations().size(), 1u);
  EXPECT_EQ(d.violations()[0], "cast reads memory that was given back");
}

TEST_F(DryOrder, MemoryIsUsedAgainAfterItsEventEvenIfNobodyWaits) {
  const Event sent = run(d.comm(), Phase::reduce, Cast{a.view(), b.view()}, Event::none());
  a.give_back(sent);
  const Buffer again = d.memory().alloc(100, DType::f32, Tag::workspace, d.compute());
  run(d.compute(), Phase::backward, Clear{again.view()}, Event::none());
  EXPECT_TRUE(d.violations().empty());
}

TEST_F(DryOrder, TheClockOverlapsQueuesAndHonoursEvents) {
  // 400 bytes written take 400 ns at one byte a ns; the transfer of 1000 bytes starts behind them.
  const Event written = run(d.compute(), Phase::backward, Clear{a.view()}, Event::none());
  const Event sent =
      run(d.comm(), Phase::reduce, Transfer{a.view(), a.view(), {}, 1000, {}}, written);
  run(d.compute(), Phase::backward, Clear{b.view()}, Event::none());
  run(d.compute(), Phase::update, Clear{a.view()}, sent);
  const auto& compute = d.timeline().lane(0);
  const auto& comm = d.timeline().lane(1);
  EXPECT_EQ(comm[0].begin_ns, 400);
  EXPECT_EQ(comm[0].end_ns, 1400);
  EXPECT_EQ(compute[1].end_ns, 800);
  EXPECT_EQ(compute[2].begin_ns, 1400);
}

TEST(DryClock, ComputeIsSlowerWhileTheOtherQueueIsBusy) {
  DryDevice d{
      true, {{[](const Op& op) { return std::holds_alternative<Clear>(op) ? 100.0 : 50.0; }, 2.0}}};
  const Buffer a = d.memory().alloc(100, DType::f32, Tag::workspace, d.compute());
  const Buffer b = d.memory().alloc(100, DType::f32, Tag::workspace, d.comm());
  const Buffer c = d.memory().alloc(100, DType::f32, Tag::workspace, d.comm());
  run(d.comm(), Phase::reduce, Cast{b.view(), c.view()}, Event::none());
  // 50 ns at half speed do 25 of 100; 75 are left.
  run(d.compute(), Phase::backward, Clear{a.view()}, Event::none());
  EXPECT_EQ(d.timeline().lane(0)[0].end_ns, 125);
  EXPECT_EQ(d.timeline().lane(1)[0].end_ns, 50);
  run(d.compute(), Phase::backward, Clear{a.view()}, Event::none());
  EXPECT_EQ(d.timeline().lane(0)[1].end_ns, 225);
}

}  // namespace
}  // namespace shardmark
