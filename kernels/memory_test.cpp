// Do the ops on plain arrays compute what their formulas say, bit for bit where that is promised?
// Every target; the ops of models are in *_ops_test.cpp, AdamW and the sum over ranks in
// update_test.cpp, conversions in cast_test.cpp.
#include <gtest/gtest.h>

#include <bit>

#include "kernels/ops_reference.hpp"

namespace shardmark {
namespace {

using namespace testing;

class Memory : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Every, Memory, ::testing::ValuesIn(targets()),
                         [](const auto& i) { return i.param; });

constexpr std::size_t sizes[] = {1, 3, 15, 16, 17, 31, 33, 64, 100, 1000, 4099};

TEST_P(Memory, ClearsEveryType) {
  Guarded<float> f(33);
  Guarded<double> d(5);
  Guarded<std::uint8_t> u(7);
  for (const View& v : {f.view(), d.view(), u.view()}) run(Clear{v}, 2);
  EXPECT_EQ(f.values(), Values(33));
  EXPECT_EQ(d.values(), Values(5));
  EXPECT_EQ(u.values(), Values(7));
}

// One addition in f32, one rounding.
template <class From, class To>
void check_add(std::size_t n) {
  const Guarded<From> x(random_values(n, 1), 1);
  Guarded<To> y(random_values(n, 2, 3), 2);
  std::vector<To> want(n);
  for (std::size_t i = 0; i < n; ++i) {
    const float sum = static_cast<float>(number(x[i])) + static_cast<float>(number(y[i]));
    want[i] = element<To>(static_cast<double>(sum));
  }
  run(Add{x.view(), y}, 2);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(number(y[i]), number(want[i])) << i;
}

TEST_P(Memory, Adds) {
  for (const std::size_t n : sizes) {
    in_every_type([&]<class T>() {
      check_add<T, T>(n);
      check_add<T, float>(n);
      check_add<float, T>(n);
    });
    const Values a = random_values(n, 1), b = random_values(n, 2);
    Guarded<double> x(a), y(b);
    run(Add{x.view(), y}, 2);
    EXPECT_EQ(y.values(), plus(b, a));
  }
  const Guarded<Bf16> x(3);
  const Guarded<F16> y(3);
  EXPECT_THROW(run(Add{x.view(), y}, 1), Error);
}

std::string sentence_of(const Op& op) {
  try {
    run(op);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_P(Memory, GoesFromAndToTheHostAsItIs) {
  if (!on_gpu()) GTEST_SKIP() << "the processor has no other memory than the host's";
  std::vector<float> from{1, 2, 3}, to(3);
  const auto of_host = [](std::vector<float>& x) {
    return View(reinterpret_cast<std::uintptr_t>(x.data()), x.size(), DType::f32, Space::host);
  };
  const Guarded<float> there(3);
  const Guarded<Bf16> narrow(3);
  run(Cast{of_host(from), there});
  run(Cast{there, of_host(to)});
  EXPECT_EQ(to, from);
  EXPECT_EQ(sentence_of(Cast{of_host(from), narrow}),
            "cast: f32 to bf16 cannot be converted on the way from or to the host, only copied");
  EXPECT_EQ(sentence_of(Cast{of_host(from), of_host(to)}),
            "cast: to is not in device memory, where the GPU computes");
  EXPECT_EQ(sentence_of(Fill{of_host(to), {}, 0, 0, 0}),
            "fill: to is not in device memory, where the GPU computes");
  EXPECT_EQ(sentence_of(Transfer{}),
            "a transfer was given to the GPU's arithmetic, but only a communicator can run it");
}

TEST_P(Memory, FillIsAFunctionOfTheElement) {
  constexpr std::size_t n = 100000;
  Guarded<float> whole(n), part(5000), other(n), constant(5);
  const Init bell{Init::Kind::bell, 0.02f};
  run(Fill{whole, bell, 7, 3, 0}, 1);
  run(Fill{part, bell, 7, 3, 4321}, 2);
  for (std::size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], whole[4321 + i]);
  double sum = 0, squares = 0, cubes = 0;
  for (const float v : whole.span()) {
    sum += v / 0.02, squares += std::pow(v / 0.02, 2), cubes += std::pow(v / 0.02, 3);
    ASSERT_LE(std::fabs(v), 0.02 * std::sqrt(12.0) + 1e-6);  // the ends of four uniforms
  }
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(1.7 / n));  // the fourth moment of four uniforms is 2.7
  EXPECT_NEAR(cubes / n, 0, 0.06);
  for (const auto& [seed, stream] : {std::pair{8u, 3u}, std::pair{7u, 4u}}) {
    run(Fill{other, bell, seed, stream, 0}, 1);
    double product = 0;
    for (std::size_t i = 0; i < n; ++i) product += other[i] / 0.02 * whole[i] / 0.02;
    EXPECT_NEAR(product / n, 0, 5 / std::sqrt(n));  // no correlation
  }
  run(Fill{constant, {Init::Kind::constant, 1.5f}, 0, 0, 0}, 1);
  EXPECT_EQ(constant.values(), Values(5, 1.5));
}

TEST_P(Memory, FillRoundsToTheType) {
  constexpr std::size_t n = 3000;
  const Guarded<float> wide(n);
  run(Fill{wide, {Init::Kind::bell, 0.02f}, 7, 3, 5}, 1);
  in_every_type([&]<class T>() {
    Guarded<T> x(n, 1), constant(5);
    run(Fill{x, {Init::Kind::bell, 0.02f}, 7, 3, 5}, 2);
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(number(x[i]), number(element<T>(static_cast<double>(wide[i])))) << i;
    run(Fill{constant, {Init::Kind::constant, 0.1f}, 0, 0, 0}, 1);
    EXPECT_EQ(constant.values(), Values(5, number(element<T>(static_cast<double>(0.1f)))));
  });
}

template <class T>
double sum_of_squares(const Values& x, std::size_t shift, int threads) {
  const Guarded<T> gx(x, shift);
  const Guarded<double> total(Values{0.5});
  run(SumSquares{gx.view(), total}, threads);
  return total[0];
}

TEST_P(Memory, SumSquaresDependsOnSizeAlone) {
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{31}, std::size_t{33}, std::size_t{300001}}) {
    in_every_type([&]<class T>() {
      const Values x = random_values<T>(n, 1);
      const double first = sum_of_squares<T>(x, 0, 1);
      EXPECT_NEAR(first - 0.5, dot(x, x), 1e-12 * static_cast<double>(n));
      for (const std::size_t shift : {0, 1, 5}) {
        for (const int threads : counts({1, 3}))
          EXPECT_EQ(sum_of_squares<T>(x, shift, threads), first);  // bit for bit
      }
      if (on_gpu()) return;  // whose order is another
      use("baseline");
      EXPECT_EQ(sum_of_squares<T>(x, 0, 1), first);
      use(GetParam());
    });
  }
}

TEST_P(Memory, SumSquaresOfPartsIsThatOfEachAlone) {
  in_every_type([&]<class T>() {
    const Values x = random_values<T>(3 * 70001, 1);
    const Guarded<T> all(x);
    const Guarded<double> totals(Values{0.5, 0.5, 0.5});
    run(SumSquares{all.view(), totals}, 2);
    for (std::size_t p = 0; p < 3; ++p) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(p * 70001);
      EXPECT_EQ(totals[p], sum_of_squares<T>(Values(begin, begin + 70001), 0, 1));  // bit for bit
    }
  });
}

// First values, and the scalars of a step, are the same on every target.
Values filled_and_clipped() {
  Guarded<float> x(3001), control(Values{0, 0, 3, 1024, 1});
  Guarded<double> squares(Values{1e7, 3.3e5, 0.1}), history(3);
  run(Fill{x, {Init::Kind::bell, 0.0177f}, 11, 5, 123456789}, 1);
  run(ClipControl{squares, control, history, 0, 1.7, LossScaling{1024, 1, 2}}, 1);
  Values all = x.values();
  for (const Values& v : {control.values(), history.values()})
    all.insert(all.end(), v.begin(), v.end());
  return all;
}
TEST_P(Memory, FirstValuesAndScalarsAreTheSameBitsEverywhere) {
  const Values got = filled_and_clipped();
  use("baseline");
  EXPECT_EQ(got, filled_and_clipped());
}

// Slots: coefficient, skip, step, loss scale, good steps.
TEST_P(Memory, ClipControl) {
  Guarded<float> control(Values{0, 5, 2, 1, 0});
  Guarded<double> squares(Values{9, 16}), history(Values(6, -1));
  run(ClipControl{squares, control, history, 1, 2.0, {}}, 1);
  EXPECT_FLOAT_EQ(control[0], 0.4f);  // 2 / sqrt(9 + 16)
  EXPECT_EQ(control[1], 0);
  EXPECT_EQ(control[2], 3);
  EXPECT_EQ(squares.values(), Values(2));
  EXPECT_EQ(history[2], -1);
  EXPECT_EQ(history[3], 5);
  EXPECT_NEAR(history[4], 2, 1e-5);
  EXPECT_EQ(history[5], 1);
  squares[0] = 1;
  run(ClipControl{squares, control, history, 0, 2.0, {}}, 1);  // below the limit
  EXPECT_EQ(control[0], 1);
  EXPECT_EQ(history[0], 1);
  squares[1] = INFINITY;
  run(ClipControl{squares, control, {}, 0, 2.0, {}}, 1);
  EXPECT_EQ(control[1], 1);  // skip, and the step does not count
  EXPECT_EQ(control[2], 4);
  run(ClipControl{{}, control, {}, 0, 2.0, {}}, 1);
  EXPECT_EQ(control[0], 1);
  EXPECT_EQ(control[1], 0);
  EXPECT_EQ(control[2], 5);
  squares[0] = 100;
  run(ClipControl{squares, control, history, 0, 0, {}}, 1);  // a norm, but no clipping
  EXPECT_EQ(control[0], 1);
  EXPECT_EQ(history[1], 10);
  EXPECT_EQ(control[3], 1);
  EXPECT_EQ(control[4], 0);
  control[3] = 0;
  if (on_gpu()) {  // where the host does not look: no update comes of it
    run(ClipControl{squares, control, {}, 0, 0, {}}, 1);
    EXPECT_EQ(control[1], 1);
  } else {
    EXPECT_THROW(run(ClipControl{squares, control, {}, 0, 0, {}}, 1), Error);
  }
}

// Gradients of 3 and 4 times the scale 8: norm 5, clipped to 2.5, and the scale taken out again.
TEST_P(Memory, ClipControlWithALossScale) {
  const LossScaling with{8, 2, 2};  // initial, floor, window
  Guarded<float> control(Values{0, 0, 0, 8, 0});
  Guarded<double> squares(Values{9 * 64, 16 * 64}), history(Values(12, -1));
  run(ClipControl{squares, control, history, 0, 2.5, with}, 1);
  EXPECT_FLOAT_EQ(control[0], 0.5f / 8);
  EXPECT_EQ(history[0], 5);
  EXPECT_NEAR(history[1], 2.5, 1e-5);
  EXPECT_EQ(history[2], 8);
  EXPECT_EQ(control[3], 8);
  squares[0] = 64;
  run(ClipControl{squares, control, history, 1, 0, with}, 1);  // the second good one in a row
  EXPECT_EQ(control[0], 1.0f / 8);
  EXPECT_EQ(history[5], 8);
  EXPECT_EQ(control[3], 16);
  EXPECT_EQ(control[4], 0);
  for (const float scale : {8.0f, 4.0f, 2.0f, 2.0f}) {  // down to the floor
    squares[1] = NAN;
    run(ClipControl{squares, control, {}, 0, 2.5, with}, 1);
    EXPECT_EQ(control[1], 1);
    EXPECT_EQ(control[3], scale);
  }
  EXPECT_EQ(control[2], 2);
}

}  // namespace
}  // namespace shardmark
