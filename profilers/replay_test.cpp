// Is the ideal timeline as short as its events allow? Worked out by hand.
#include "profilers/replay.hpp"

#include <gtest/gtest.h>

namespace shardmark {
namespace {

Interval interval(std::int64_t begin, std::int64_t end, std::array<std::uint64_t, 2> after,
                  std::int64_t skew = 0) {
  Interval i;
  i.begin_ns = begin, i.end_ns = end, i.after = after, i.skew_ns = skew;
  return i;
}

// Backward of 10 and 20, each followed by its reduction of 15; the update of 5 waits for both.
TEST(Replay, BeginsAsEarlyAsEventsAllow) {
  Timeline t;
  t.add(0, interval(100, 110, {0, 0}));
  t.add(0, interval(117, 137, {0, 0}));
  t.add(0, interval(200, 205, {0, 2}));
  t.add(1, interval(130, 150, {1, 0}, 5));  // 5 of it were waiting for another rank
  t.add(1, interval(160, 175, {2, 0}));
  const Timeline ideal = replay(t);
  EXPECT_EQ(ideal.lane(0)[0].begin_ns, 0);
  EXPECT_EQ(ideal.lane(0)[1].begin_ns, 10);
  EXPECT_EQ(ideal.lane(1)[0].begin_ns, 10);
  EXPECT_EQ(ideal.lane(1)[0].end_ns, 25);
  EXPECT_EQ(ideal.lane(1)[1].begin_ns, 30);  // its gradient is there at 30, the lane since 25
  EXPECT_EQ(ideal.lane(0)[2].begin_ns, 45);
  EXPECT_EQ(ideal.lane(0)[2].end_ns, 50);
}

TEST(Replay, KeepsWhatIsOnOneLaneInOrder) {
  Timeline t;
  t.add(0, interval(0, 4, {0, 0}));
  t.add(0, interval(9, 12, {1, 0}));
  const Timeline ideal = replay(t);
  EXPECT_EQ(ideal.lane(0)[1].begin_ns, 4);
  EXPECT_EQ(ideal.lane(0)[1].end_ns, 7);
}

// It waited until 105; what it ran from there on keeps its gaps.
TEST(Replay, WhatIdlesInsideStillDoes) {
  Timeline t;
  Interval i = interval(100, 120, {0, 0}, 5);
  i.busy = {{100, 101}, {103, 108}, {112, 120}};
  t.add(0, interval(0, 7, {0, 0}));
  t.add(0, i);
  EXPECT_EQ(replay(t).lane(0)[1].begin_ns, 7);
  EXPECT_EQ(replay(t).lane(0)[1].end_ns, 22);
  EXPECT_EQ(replay(t).lane(0)[1].busy, (std::vector<Stretch>{{7, 10}, {14, 22}}));
}

TEST(Replay, RefusesWhatCouldNeverHaveRun) {
  Timeline t;
  t.add(0, interval(0, 4, {0, 1}));
  EXPECT_THROW(replay(t), std::logic_error);
}

}  // namespace
}  // namespace shardmark
