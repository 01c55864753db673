// Are numbers written as a person would write them, and columns aligned by what is seen?
#include "bench/units.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include <limits>

namespace shardmark {
namespace {

TEST(Units, two_decimals_have_no_exponent) {
  EXPECT_EQ(two_decimals(0), "0.00");
  EXPECT_EQ(two_decimals(9999.99), "9999.99");
  EXPECT_EQ(two_decimals(9999.996), "10,000");
  EXPECT_EQ(two_decimals(1234567.8), "1,234,568");
}

TEST(Units, a_number_that_may_have_run_away_stays_readable) {
  EXPECT_EQ(readable(5.7391, 3), "5.739");
  EXPECT_EQ(readable(-9999.5, 1), "-9999.5");
  EXPECT_EQ(readable(132738170499675986316295667712.0, 3), "1.33e+29");
  EXPECT_EQ(readable(std::nan(""), 3), "nan");
  EXPECT_EQ(readable(-HUGE_VAL, 3), "-inf");
}

TEST(Units, three_digits_whatever_the_size) {
  EXPECT_EQ(significant(1234.5), "1234");
  EXPECT_EQ(significant(123.45), "123");
  EXPECT_EQ(significant(12.345), "12.3");
  EXPECT_EQ(significant(0.012345), "0.0123");
  EXPECT_EQ(significant(9.996), "10.0");  // rounds into another place
  EXPECT_EQ(significant(-12.345), "-12.3");
  EXPECT_EQ(significant(0), "0");
  EXPECT_EQ(significant(std::numeric_limits<double>::infinity()), "inf");
}

TEST(Units, decimal_units) {
  EXPECT_EQ(with_unit(999, "B"), "999 B");
  EXPECT_EQ(bytes_up(3'420'000'000), "3.42 GB");
  EXPECT_EQ(bytes_up(3'420'000'001), "3.43 GB");
  EXPECT_EQ(bytes_up(999'000'001), "1.00 GB");
  EXPECT_EQ(bytes_up(999), "999 B");
  EXPECT_EQ(bytes_up(0), "0 B");
  EXPECT_EQ(bytes_down(3'429'999'999), "3.42 GB");
  EXPECT_EQ(bytes_down(3'430'000'000), "3.43 GB");
  EXPECT_EQ(bytes_down(1'009), "1.00 kB");
  EXPECT_EQ(per_second(0.0484), "0.0484");
  EXPECT_EQ(per_second(12345.6), "12,346");
  EXPECT_EQ(with_unit(1000, "B"), "1.00 kB");
  EXPECT_EQ(with_unit(999'499, "B"), "999 kB");
  EXPECT_EQ(with_unit(999'500, "B"), "1.00 MB");  // not 1000 kB
  EXPECT_EQ(with_unit(1073741824.0, "B"), "1.07 GB");
  EXPECT_EQ(with_unit(112.3e9, "FLOP/s"), "112 GFLOP/s");
  EXPECT_EQ(with_unit(0, "B"), "0 B");
}

TEST(Units, groups_of_thousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(694272), "694,272");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
  EXPECT_EQ(grouped(-0.2), "0");
  EXPECT_EQ(percent(0.12345), "12.3 %");
}

TEST(Units, width_counts_characters) {
  EXPECT_EQ(display_width("≈ 1.0"), 5u);
  EXPECT_EQ(display_width("5.5 → 4.4"), 9u);
  EXPECT_EQ(pad_left("≈", 3), "  ≈");
  EXPECT_EQ(pad_right("≈", 3), "≈  ");
  EXPECT_EQ(pad_left("long", 2), "long");
}

TEST(Units, grid_aligns_and_leaves_no_blanks_at_the_end) {
  Grid grid(1, "  ");
  grid.row({"a heading as long as it likes"});
  grid.row({"name", "≈ 1", "x"});
  grid.row({"n", "1000", ""});
  EXPECT_EQ(grid.text(), "  a heading as long as it likes\n  name   ≈ 1  x\n  n     1000\n");
  EXPECT_EQ(grid.width(), 15u);  // 2 + 4 + 2 + 4 + 2 + 1
}

TEST(Units, wraps_between_words) {
  EXPECT_EQ(wrapped("one two three", 7, "  "), "one two\n  three");
  EXPECT_EQ(wrapped("one two three", 13), "one two three");
  EXPECT_EQ(wrapped("unbreakable", 4), "unbreakable");
  EXPECT_EQ(wrapped("", 4), "");
}

}  // namespace
}  // namespace shardmark
