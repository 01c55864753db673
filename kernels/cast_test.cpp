// Does a conversion give the nearest number, of two the even one, whatever the types? Every
// target; every number of 2 bytes.
#include <gtest/gtest.h>

#include <bit>

#include "kernels/guarded.hpp"

namespace shardmark {
namespace {

using namespace testing;

class Casts : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Every, Casts, ::testing::ValuesIn(targets()),
                         [](const auto& i) { return i.param; });

constexpr std::size_t all = 1 << 16;  // numbers of 2 bytes

template <class T>
std::vector<T> every_number() {
  std::vector<T> x(all);
  for (std::size_t i = 0; i < all; ++i) x[i].bits = static_cast<std::uint16_t>(i);
  return x;
}
template <class To, class From>
std::vector<To> cast(const std::vector<From>& from) {
  Guarded<From> x(from.size());
  Guarded<To> y(from.size());
  std::copy(from.begin(), from.end(), x.span().begin());
  run(Cast{x, y});
  return {y.span().begin(), y.span().end()};
}

// As numbers, and as bits where they are finite: zero has a sign.
template <class From, class To>
void expect_nearest(const std::vector<From>& from, const std::vector<To>& got) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double x = number(from[i]), want = number(element<To>(x));
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(number(got[i]))) << i;
    } else {
      ASSERT_EQ(number(got[i]), want) << i;
      ASSERT_EQ(std::signbit(number(got[i])), std::signbit(want)) << i;
    }
  }
}

template <class T>
void check_every_number() {
  const std::vector<T> x = every_number<T>();
  const std::vector<float> wide = cast<float>(x);
  expect_nearest(x, wide);
  const std::vector<T> back = cast<T>(wide), copied = cast<T>(x);
  expect_nearest(x, back);
  for (std::size_t i = 0; i < all; ++i) ASSERT_EQ(copied[i].bits, x[i].bits) << i;
  expect_nearest(x, cast<Bf16>(x));
  expect_nearest(x, cast<F16>(x));
}
TEST_P(Casts, OfEveryNumberOf2Bytes) {
  check_every_number<Bf16>();
  check_every_number<F16>();
}

// Between neighbours: below the middle down, above it up, in the middle to the even one; beyond the
// last: infinite.
template <class T>
void check_middles() {
  const Format f = format_of<T>;
  const auto infinite = static_cast<std::uint16_t>(0x7fff >> f.fraction << f.fraction);
  std::vector<float> x;
  for (std::uint16_t i = 0; i < infinite; ++i) {
    const double low = value_of(i, f), gap = gap_at(low, f);
    const float middle = static_cast<float>(low + gap / 2);
    x.insert(x.end(), {std::nextafterf(middle, 0), middle, std::nextafterf(middle, INFINITY)});
  }
  std::vector<float> negative = x;
  for (float& v : negative) v = -v;
  const std::vector<T> got = cast<T>(x), other = cast<T>(negative);
  for (std::uint16_t i = 0; i < infinite; ++i) {
    ASSERT_EQ(got[3 * i].bits, i) << i;
    ASSERT_EQ(got[3 * i + 1].bits, i % 2 ? i + 1 : i) << i;
    ASSERT_EQ(got[3 * i + 2].bits, i + 1) << i;
    for (int j = 0; j < 3; ++j) ASSERT_EQ(other[3 * i + j].bits, got[3 * i + j].bits | 0x8000);
  }
}
TEST_P(Casts, RoundToNearestEven) {
  check_middles<Bf16>();
  check_middles<F16>();
}

// Of any float: every target gives the same bits, and every instruction set also of NaNs.
TEST_P(Casts, AreTheSameBitsEverywhere) {
  std::vector<float> x;
  std::mt19937 generator(1);
  for (int i = 0; i < 100000; ++i)
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(generator())));
  for (std::uint32_t i = 0; i < 1 << 12; ++i) {
    x.push_back(std::bit_cast<float>(0x7f800001u + (i << 11)));
    x.push_back(std::bit_cast<float>(0xff800000u + i));
  }
  in_every_type([&]<class T>() {
    use(GetParam());
    const std::vector<T> got = cast<T>(x);
    const std::vector<float> wide = cast<float>(got);
    use("baseline");
    const std::vector<T> want = cast<T>(x);
    const std::vector<float> want_wide = cast<float>(want);
    const bool gpu = GetParam().starts_with("gpu");
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (gpu && std::isnan(x[i])) continue;
      ASSERT_EQ(got[i].bits, want[i].bits) << x[i];
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(want_wide[i]));
    }
    expect_nearest(x, got);
  });
}

TEST_P(Casts, BetweenFloatAndDouble) {
  for (const std::size_t n : {1, 17, 1000, 4099}) {
    const Values a = random_values(n, 1);
    const Guarded<float> x(a, 1), y(n, 2);
    Guarded<double> wide(n);
    run(Cast{x.view(), wide}, 1);
    ASSERT_EQ(wide.values(), a);
    for (double& v : wide.span()) v *= 1 + 1e-9;
    run(Cast{wide.view(), y}, 1);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], static_cast<float>(a[i] * (1 + 1e-9)));
    run(Cast{x.view(), y}, 1);
    ASSERT_EQ(y.values(), a);
  }
}

// Sizes that fill no vector, with guards around.
TEST_P(Casts, OfAnySize) {
  for (const std::size_t n : {1, 3, 15, 16, 17, 31, 33, 64, 100}) {
    in_every_type([&]<class From>() {
      in_every_type([&]<class To>() {
        const Values a = random_values<From>(n, 1);
        const Guarded<From> x(a, 1);
        const Guarded<To> y(n, 3), want(a);
        run(Cast{x.view(), y}, 2);
        ASSERT_EQ(y.values(), want.values());
      });
    });
  }
}

}  // namespace
}  // namespace shardmark
