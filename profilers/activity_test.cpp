// Does every kernel find the span that enqueued it, whatever the clock says? Records are written by
// hand; known answers are drawn on a ruler of nanoseconds.
#include "profilers/activity.hpp"

#include <gtest/gtest.h>

#include "profilers/breakdown.hpp"

namespace shardmark {
namespace {

// A rank's GPU, told what to record: a call in a span, then what the GPU did for it.
class Recorded {
 public:
  explicit Recorded(int rank = 0) : rank_(rank) {}
  Interval& span(int lane, Phase phase, int step = 0) {
    spans.add(lane, {-7, -3, phase, 0, step, 0});  // times of the host, which do not count
    return spans.lane(lane).back();
  }
  // Of the lane's last span.
  std::uint32_t call(int lane) {
    const SpanNumber n{rank_, lane, spans.lane(lane).size()};
    all.calls.push_back({1, 4, ++calls_, 99});
    all.externals.push_back({n.packed(), calls_});
    return calls_;
  }
  void kernel(int lane, std::int64_t begin, std::int64_t end, std::string name = "gelu") {
    all.kernels.push_back({begin, end, call(lane), static_cast<std::uint32_t>(lane), name});
  }
  Timeline spans;
  Activities all;

 private:
  int rank_;
  std::uint32_t calls_ = 0;
};

TEST(SpanNumber, SaysAllThreeAgain) {
  for (const SpanNumber n : {SpanNumber{0, 0, 1}, SpanNumber{0, 1, 1}, SpanNumber{7, 1, 123456789},
                             SpanNumber{65535, 0, (std::uint64_t{1} << 40) - 1}})
    EXPECT_EQ(SpanNumber::unpacked(n.packed()), n);
  EXPECT_NE((SpanNumber{1, 0, 1}.packed()), (SpanNumber{0, 1, 1}.packed()));
}

// Forward's only kernel runs late, under backward's first: times alone would give it to backward.
TEST(Attribution, IsByCorrelationAndNotByTime) {
  Recorded r;
  r.span(0, Phase::forward);
  r.kernel(0, 10, 30);
  r.span(0, Phase::backward);
  r.kernel(0, 12, 22);
  const Attributed a = attribute(r.all, 0, r.spans);
  ASSERT_EQ(a.timeline.lane(0).size(), 2u);
  EXPECT_EQ(a.timeline.lane(0)[0].begin_ns, 10);
  EXPECT_EQ(a.timeline.lane(0)[0].end_ns, 30);
  EXPECT_EQ(a.timeline.lane(0)[1].begin_ns, 12);
  EXPECT_EQ(a.timeline.lane(0)[1].end_ns, 22);
  const StepTimes s = breakdown(a.timeline, 1).at(0);
  EXPECT_EQ(s.of(Phase::forward), 20);
  EXPECT_EQ(s.of(Phase::backward), 10);
  EXPECT_EQ(a.activities, (Attributed::Sum{2, 30}));
  EXPECT_EQ(a.calls, (Attributed::Sum{2, 6}));
  EXPECT_EQ(a.unattributed, (Attributed::Sum{0, 0}));
  EXPECT_TRUE(what_is_missing(a).empty());
}

// Two streams: backward runs 0..10 and 20..30, the reduction 5..25: a cast, then NCCL's kernel.
TEST(Attribution, TwoStreamsGiveTheBreakdownOfTheirUnions) {
  Recorded r;
  r.span(0, Phase::backward);
  r.kernel(0, 0, 6);
  r.kernel(0, 4, 10);  // overlaps the one before
  r.kernel(0, 20, 30);
  r.span(1, Phase::reduce);
  r.all.copies.push_back({5, 7, r.call(1), 1, 64, Activities::Direction::on_device});
  r.kernel(1, 9, 25, "_Z40ncclDevKernel_ReduceScatter_Sum_f32_RING_LL");
  const Attributed a = attribute(r.all, 0, r.spans);
  EXPECT_EQ(a.timeline.lane(0)[0].busy, (std::vector<Stretch>{{0, 10}, {20, 30}}));
  EXPECT_EQ(a.nccl, (Attributed::Sum{1, 16}));
  const StepTimes s = breakdown(a.timeline, 1).at(0);
  EXPECT_EQ(s.step_ns, 30);
  EXPECT_EQ(s.of(Phase::backward), 20);
  EXPECT_EQ(s.communication_ns, 18);
  EXPECT_EQ(s.hidden_ns, 8);    // 5..7, 9..10, 20..25
  EXPECT_EQ(s.exposed_ns, 10);  // 10..20
  EXPECT_EQ(s.other_ns, 0);
}

TEST(Attribution, WhatNoSpanEnqueuedIsReportedAndInNoPhase) {
  Recorded r;
  r.span(0, Phase::forward);
  r.kernel(0, 10, 20);
  r.all.kernels.push_back({3, 9, 999, 0, "set_up"});  // before all steps, and nobody's
  r.all.kernels.push_back({12, 17, 1000, 0, "warm_up"});
  r.all.sets.push_back({30, 33, 1001, 0, 4});
  r.all.externals.push_back({SpanNumber{0, 0, 2}.packed(), 1002});  // there is no such span
  r.all.kernels.push_back({40, 44, 1002, 0, "late"});
  const Attributed a = attribute(r.all, 0, r.spans);
  EXPECT_EQ(a.unattributed, (Attributed::Sum{3, 12}));
  EXPECT_EQ(a.activities, (Attributed::Sum{1, 10}));
  EXPECT_EQ(breakdown(a.timeline, 1).at(0).step_ns, 10);
  ASSERT_EQ(what_is_missing(a).size(), 1u);
  EXPECT_EQ(
      what_is_missing(a)[0],
      "Of GPU activity 3 records, of 12 ns together, came from no span: no phase has this time.");
}

TEST(Attribution, WhatIsLostIsSaid) {
  Recorded r;
  r.span(0, Phase::forward);
  r.kernel(0, 0, 0);  // no times: not a kernel at the beginning of the clock
  r.kernel(0, 50, 60);
  r.all.dropped = 3, r.all.unreadable = 1;
  const Attributed a = attribute(r.all, 0, r.spans);
  EXPECT_EQ(a.untimed, 1u);
  EXPECT_EQ(a.timeline.lane(0)[0].begin_ns, 50);
  ASSERT_EQ(what_is_missing(a).size(), 3u);
  EXPECT_EQ(what_is_missing(a)[0],
            "Of GPU activity 3 records found no room: busy times are too short.");
}

// Ranks that are threads share one recorder.
TEST(Attribution, ARankHasItsOwn) {
  Recorded r(1);
  r.span(0, Phase::forward);
  r.kernel(0, 10, 20);
  const Attributed other = attribute(r.all, 0, r.spans), own = attribute(r.all, 1, r.spans);
  EXPECT_EQ(other.activities.count, 0u);
  EXPECT_EQ(other.unattributed.count, 0u);
  EXPECT_EQ(other.calls.count, 0u);
  EXPECT_EQ(other.idle_spans, 1u);
  EXPECT_EQ(own.activities, (Attributed::Sum{1, 10}));
}

// One rank alone reduces nothing, but its spans keep their places: tickets and peers count them.
TEST(Attribution, ASpanThatDoesNothingIsEmptyWhereTheNextBegins) {
  Recorded r;
  r.span(0, Phase::clip, 0);
  r.span(0, Phase::forward, 0);
  r.kernel(0, 10, 20);
  r.span(0, Phase::clip, 0);
  r.span(0, Phase::forward, 1);
  r.kernel(0, 30, 44);
  r.span(0, Phase::clip, 1);
  const Attributed a = attribute(r.all, 0, r.spans);
  EXPECT_EQ(a.idle_spans, 3u);
  const auto& lane = a.timeline.lane(0);
  EXPECT_EQ((std::pair{lane[0].begin_ns, lane[0].end_ns}), (std::pair<long, long>{10, 10}));
  EXPECT_EQ((std::pair{lane[2].begin_ns, lane[2].end_ns}), (std::pair<long, long>{30, 30}));
  EXPECT_EQ((std::pair{lane[4].begin_ns, lane[4].end_ns}), (std::pair<long, long>{44, 44}));
  const auto steps = breakdown(a.timeline, 2);
  EXPECT_EQ(steps[0].begin_ns, 10);
  EXPECT_EQ(steps[0].step_ns, 20);
  EXPECT_EQ(steps[0].of(Phase::clip), 0);
  EXPECT_EQ(steps[0].other_ns, 10);
  EXPECT_EQ(steps[1].step_ns, 14);
}

TEST(Attribution, ASpanKeepsAllButItsTimes) {
  Recorded r;
  Interval& span = r.span(1, Phase::gather, 3);
  span.label = 5, span.after = {2, 1};
  span.collective = Collective{Verb::all_gather, DType::bf16, 640};
  r.kernel(1, 10, 20);
  const Interval i = attribute(r.all, 0, r.spans).timeline.lane(1).at(0);
  EXPECT_EQ(i.label, 5);
  EXPECT_EQ(i.step, 3);
  EXPECT_EQ(i.after, (std::array<std::uint64_t, 2>{2, 1}));
  EXPECT_EQ(i.collective, (Collective{Verb::all_gather, DType::bf16, 640}));
  EXPECT_TRUE(i.busy.empty());  // all of it
}

TEST(Attribution, KnowsKernelsOfNccl) {
  EXPECT_TRUE(is_nccl("_Z40ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE"));
  EXPECT_TRUE(is_nccl("ncclKernel_AllReduce_RING_LL_Sum_float"));
  EXPECT_FALSE(is_nccl("sm90_xmma_gemm_bf16bf16_bf16f32"));
}

}  // namespace
}  // namespace shardmark
