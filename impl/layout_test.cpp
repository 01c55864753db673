// Are segments, homes and padding where the design says? Known answers are counted by hand.
#include "impl/layout.hpp"

#include <gtest/gtest.h>

namespace shardmark {
namespace {

Architecture units(const std::vector<std::vector<std::size_t>>& sizes) {
  Architecture a;
  for (const auto& unit : sizes) {
    a.units.push_back({});
    for (std::size_t size : unit) {
      a.units.back().uses.push_back(static_cast<int>(a.parameters.size()));
      a.parameters.push_back({"p", size, {}});
    }
  }
  return a;
}

Options bucket(std::size_t elements) {
  Options o;
  o.bucket_elements = elements;
  return o;
}

// What every layout must keep, whatever the sizes.
void expect_consistent(const Architecture& a, const Layout& l) {
  const auto n = static_cast<std::size_t>(l.ranks());
  std::size_t real = 0;
  for (int h = 0; h < l.homes(); ++h) {
    std::size_t at = 0;
    for (int s = l.home(h).first; s <= l.home(h).last; ++s) {
      EXPECT_EQ(l[s].in_home.begin, at);
      EXPECT_EQ(l[s].in_home.size, l[s].cut * n);
      EXPECT_EQ(l[s].cut % Layout::align, 0u);
      at += l[s].in_home.size;
      real += l[s].real;
    }
    EXPECT_EQ(at, l.home(h).size);
  }
  EXPECT_EQ(real, a.parameter_count());
  // What is said to be alike is, one after another.
  Segments all;
  all.add({0, l.segments() - 1});
  int next = 0;
  l.each_alike(all, [&](const Segment& first, int count) {
    for (int s = next; s < next + count; ++s) {
      EXPECT_EQ(l[s].cut, first.cut);
      EXPECT_EQ(l[s].real, first.real);
      EXPECT_EQ(l[s].home, first.home);
      EXPECT_EQ(l[s].trainable, first.trainable);
    }
    next += count;
  });
  EXPECT_EQ(next, l.segments());
  for (int p = 0; p < l.parameters(); ++p) {
    EXPECT_EQ(l.place(p).begin % Layout::align, 0u);
    EXPECT_LE(l.place(p).begin + l.parameter_size(p), l.home(l.place(p).home).size);
  }
}

TEST(Layout, SplitsAUnitAtTheBucketAndPadsOnlyTheEndOfItsHome) {
  const Architecture a =
      units({{100}});  // rounded to 104; pieces of 48 = 6 x 8 with N = 3: 48, 48, 8 padded to 24
  const Layout l(a, bucket(50), 3, 0, false);
  ASSERT_EQ(l.segments(), 3);
  EXPECT_EQ(l.homes(), 1);
  EXPECT_EQ(l[0].cut, 16u);
  EXPECT_EQ(l[2].cut, 8u);
  EXPECT_EQ(l[2].real, 4u);
  EXPECT_EQ(l.home(0).size, 120u);
  expect_consistent(a, l);
}

TEST(Layout, LetsSmallUnitsTravelTogether) {
  const Architecture a = units({{8, 8}, {8}, {8, 16}});
  const Layout l(a, bucket(24), 1, 0, false);
  ASSERT_EQ(l.segments(), 2);  // units 0 and 1; unit 2
  EXPECT_EQ(l[0].real, 24u);
  EXPECT_EQ(l[0].first_use, 0);
  EXPECT_EQ(l.completed_by(0).size(), 1u);
  EXPECT_TRUE(l.completed_by(1).empty());
  EXPECT_EQ(*l.used_by(1).begin(), 0);
  expect_consistent(a, l);
}

TEST(Layout, ASegmentAUnitForZero3AndSmallParametersApart) {
  const Architecture a = units({{40, 3}, {40, 3}});
  Options o;
  o.persist_below = 10;
  const Layout l(a, o, 2, 1, true);
  ASSERT_EQ(l.segments(), 4);
  EXPECT_FALSE(l[0].resident);
  EXPECT_TRUE(l[1].resident);
  EXPECT_EQ(l.owned(0).begin, 24u);  // 40 padded to 48, rank 1 of 2
  expect_consistent(a, l);
}

TEST(Layout, ATiedParameterIsStoredOnceAndFinalAfterItsFirstUnit) {
  Architecture a = units({{64}, {32}});
  a.units.push_back({});
  a.units[2].uses = {0};
  const Layout l(a, {}, 2, 0, true);
  EXPECT_EQ(l.segments(), 2);
  EXPECT_EQ(*l.used_by(2).begin(), *l.used_by(0).begin());
  EXPECT_TRUE(l.completed_by(2).empty());
  EXPECT_EQ(l.completed_by(0).size(), 1u);
}

TEST(Layout, FrozenParametersHaveHomesOfTheirOwn) {
  Options o;
  o.frozen = {true, false};
  const Architecture a = units({{16, 16}});
  const Layout l(a, o, 2, 0, false);
  EXPECT_EQ(l.segments(), 2);
  EXPECT_EQ(l.trainable().size(), 1u);
  EXPECT_EQ(l.textbook().elements(Form::whole, Which::trainable), 16);
}

// Pieces of 16: the first parameter ends 3 elements into the second piece and is followed by 5 of
// padding; the others hold none.
TEST(Layout, OnlyPiecesWithPaddingInThemDiffer) {
  const Architecture a = units({{19, 1'000'000}});
  const Layout l(a, bucket(16), 2, 0, false);
  ASSERT_EQ(l.segments(), 62'502);
  EXPECT_EQ(l[0].real, 16u);
  EXPECT_EQ(l[1].real, 11u);
  EXPECT_EQ(l[2].real, 16u);
  EXPECT_EQ(l[62'501].real, 8u);
  EXPECT_EQ(l[62'501].in_home.begin, 1'000'016u);
  EXPECT_EQ(l[62'501].in_home.size, 16u);
  EXPECT_EQ(l.elements(Form::whole, Which::all), 1'000'032);
  EXPECT_EQ(l.textbook().elements(Form::whole, Which::all), 1'000'019);
  int stretches = 0;
  l.each_alike(l.trainable(), [&](const Segment&, int) { ++stretches; });
  EXPECT_EQ(stretches, 4);
}

TEST(Layout, OddShapesAreLegal) {
  for (int n : {1, 2, 3, 8, 768})
    for (std::size_t size :
         {std::size_t{1}, std::size_t{57}, std::size_t{1000}, std::size_t{40'000}})
      for (std::size_t b :
           {std::size_t{0}, std::size_t{1}, std::size_t{999}, std::size_t{1'000'000}})
        for (bool by_unit : {false, true}) {
          const Architecture a = units({{size, 0}, {1}, {0}, {size / 2 + 1, 3}});
          expect_consistent(a, Layout(a, bucket(b), n, n - 1, by_unit));
        }
}

// 266,240 = 768 * 346.67, and a rank owns multiples of 8, here 352: 756 whole parts, 128 elements
// of the next, and 11 ranks that own padding alone.
TEST(Layout, PaddingMayLeaveTrailingRanksWithNothing) {
  const Architecture a = units({{266'240}});
  std::size_t all = 0, without = 0;
  for (int r = 0; r < 768; ++r) {
    const Layout l(a, {}, 768, r, true);
    ASSERT_EQ(l.segments(), 1);
    EXPECT_EQ(l[0].cut, 352u);
    const Range mine = l.owned(0);
    EXPECT_EQ(mine.begin, static_cast<std::size_t>(r) * 352);
    const std::size_t real =
        mine.begin >= 266'240 ? 0 : std::min<std::size_t>(352, 266'240 - mine.begin);
    EXPECT_TRUE(r != 756 || real == 128);
    all += real;
    without += real == 0;
  }
  EXPECT_EQ(all, 266'240u);
  EXPECT_EQ(without, 11u);
}

// Three units, of which the first one's backward reads no weights unless its forward is run again.
TEST(Layout, BackwardReadsWeightsOnlyWhereItUsesThem) {
  Architecture a = units({{8}, {8}, {8}});
  a.units[0].backward_reads = false;
  a.units[0].activation = 1;
  const auto read = [&a](const Options& o) {
    const Layout l(a, o, 2, 0, true);
    std::vector<std::size_t> counts;
    for (int visit = 0; visit < l.visits(); ++visit) counts.push_back(l.read_by(visit).size());
    return counts;
  };
  using Counts = std::vector<std::size_t>;
  EXPECT_EQ(read({}), (Counts{1, 1, 1, 1, 1, 0}));
  Options again;
  again.recompute = Recompute::unit;
  EXPECT_EQ(read(again), (Counts{1, 1, 1, 1, 1, 1}));
  Options frozen;  // nothing before the last unit is trained
  frozen.frozen = {true, true, false};
  EXPECT_EQ(read(frozen), (Counts{1, 1, 1, 1, 0, 0}));
}

TEST(Layout, TheTextbookCountsNoPadding) {
  const Architecture a = units({{5}, {7}});
  const Layout l(a, {}, 4, 0, false);
  EXPECT_EQ(l.elements(Form::whole, Which::all), 64);
  EXPECT_EQ(l.textbook().elements(Form::whole, Which::all), 12);
  EXPECT_EQ(l.textbook().elements(Form::cut, Which::all), 3);
}

}  // namespace
}  // namespace shardmark
