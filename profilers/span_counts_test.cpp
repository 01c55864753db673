// Is a step's multiset of spans counted right, and blind to times and order?
#include "span_counts.hpp"

#include <gtest/gtest.h>

namespace shardmark {
namespace {

Interval span(Phase p, int label, int step, std::int64_t begin = 0) {
  Interval i;
  i.phase = p, i.label = label, i.step = step;
  i.begin_ns = begin, i.end_ns = begin + 1;
  return i;
}

Interval carrying(Interval i, Collective c) {
  i.collective = c;
  return i;
}

TEST(SpanCounts, OnlyThatStepEachKindOnce) {
  Timeline t;
  t.add(0, span(Phase::backward, 3, 1));
  t.add(0, span(Phase::forward, 0, 1));
  t.add(0, span(Phase::backward, 3, 1, 70));
  t.add(0, span(Phase::backward, 3, 2));
  const std::vector<SpanCount> counted = span_counts(t, 1, 1).at(0);
  const std::vector<SpanCount> expected = {{0, Phase::forward, 0, {}, 1},
                                           {0, Phase::backward, 3, {}, 2}};
  EXPECT_EQ(counted, expected);
}

TEST(SpanCounts, OrderAndTimesDoNotMatterLaneVerbAndSizeDo) {
  const Collective reduced{Verb::reduce_scatter, DType::f32, 100};
  const Interval i = carrying(span(Phase::reduce, 0, 0), reduced);
  const auto counted = [](int lane, const Interval& a, const Interval& b) {
    Timeline t;
    t.add(lane, a);
    t.add(lane, b);
    return span_counts(t, 0, 1).at(0);
  };
  Interval later = i;
  later.begin_ns = 9, later.end_ns = 12;
  const auto usual = counted(1, i, later);
  EXPECT_EQ(usual, counted(1, later, i));
  EXPECT_EQ(usual.size(), 1u);
  EXPECT_NE(usual, counted(0, i, later));
  for (const Collective& other : {Collective{Verb::all_reduce, DType::f32, 100},
                                  Collective{Verb::reduce_scatter, DType::bf16, 100},
                                  Collective{Verb::reduce_scatter, DType::f32, 101}})
    EXPECT_EQ(counted(1, i, carrying(i, other)).size(), 2u);
}

}  // namespace
}  // namespace shardmark
