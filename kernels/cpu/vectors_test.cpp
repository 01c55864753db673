// Are the exponential and the streaming copy right, in every instruction set of this machine? What
// ops make of them: ../*_test.cpp.
#include <gtest/gtest.h>

#include "kernels/cpu/table.hpp"
#include "kernels/guarded.hpp"

namespace shardmark {
namespace {

using namespace testing;

class Vectors : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Every, Vectors, ::testing::ValuesIn(cpu::instruction_sets()),
                         [](const auto& i) { return i.param; });

TEST_P(Vectors, ExponentialIsRightToAFewParts) {
  constexpr std::size_t n = 200003;
  Guarded<float> x(n), y(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = static_cast<float>(-87.33 + 176.05 * static_cast<double>(i) / n);
  cpu::table().exponential(&x[0], &y[0], n);
  for (std::size_t i = 0; i < n; ++i) {
    const double want = std::exp(static_cast<double>(x[i]));
    ASSERT_LT(std::fabs(static_cast<double>(y[i]) / want - 1), 3e-7) << x[i];
  }
}
TEST_P(Vectors, ExponentialAtTheEnds) {
  const float inf = INFINITY;
  Guarded<float> x(Values{0, -inf, inf, NAN, -104, -1e30, 89, 1e30, 88.72}), y(9);
  cpu::table().exponential(&x[0], &y[0], 9);
  const float want[] = {1, 0, inf, NAN, 0, 0, inf, inf};
  for (std::size_t i = 0; i < 8; ++i) {
    if (i != 3) {
      EXPECT_EQ(y[i], want[i]) << x[i];
    }
  }
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_NEAR(static_cast<double>(y[8]) / std::exp(static_cast<double>(88.72f)), 1, 3e-7);
}

TEST_P(Vectors, StreamCopyCopies) {
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{100}, std::size_t{262144}, std::size_t{300007}}) {
    for (const std::size_t shift : {0, 1, 3}) {
      const Values x = random_values(n, 1);
      Guarded<float> from(x, 2 * shift), to(n, shift);
      cpu::stream_copy(from.view(), to);
      ASSERT_EQ(to.values(), x);
      Guarded<float> cast(n, shift);
      run(Cast{from.view(), cast}, 3);
      ASSERT_EQ(cast.values(), x);
    }
  }
}

}  // namespace
}  // namespace shardmark
