// Do RMSNorm, rotary positions and SwiGLU compute what their formulas say, in each element type?
// Every target, against plain loops in double on the rounded inputs; sizes
// that fill no vector; guards around every output.
#include <gtest/gtest.h>

#include "kernels/transformer_reference.hpp"

namespace shardmark {
namespace {

using namespace testing;
namespace ref = testing::reference;

class TransformerOps : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Every, TransformerOps, ::testing::ValuesIn(targets()),
                         [](const auto& i) { return i.param; });

template <class T>
void check_rms_norm(std::size_t w, std::size_t rows) {
  SCOPED_TRACE(::testing::Message() << "width " << w << " rows " << rows);
  const Guarded<T> x(random_values(rows * w, 1), 1), gain(random_values(w, 2)),
      grad(random_values(rows * w, 3), 2);
  const Values dx_before = random_values<T>(rows * w, 4), dgain_before = random_values<T>(w, 5);
  const ref::Normed want = ref::rms_norm(x.values(), gain.values(), 1e-3);
  const ref::NormGradients back =
      ref::rms_norm_backward(grad.values(), x.values(), gain.values(), want.stats);
  for (const int threads : counts({1, 3})) {
    const Guarded<T> out(rows * w, 3), dx(dx_before), dgain(dgain_before);
    const Guarded<float> stats(rows);
    run(RmsNorm{x, gain, out, stats, w, 1e-3f}, threads);
    expect_near(out, want.out, 1e-5, "out");
    expect_near(stats, want.stats, 1e-5, "stats");
    run_with_scratch(RmsNormBackward{grad, x, gain, stats, dx, dgain, w, {}}, threads);
    const double tolerance = w == 1 ? 1e-3 : 5e-5;  // one element alone: 1 / rms is large
    expect_near(dx, plus(back.dx, dx_before), tolerance, "dx");
    expect_near(dgain, plus(back.dgain, dgain_before), 1e-5, "dgain");
    run_with_scratch(RmsNormBackward{grad, x, gain, stats, dx, {}, w, {}}, threads);
  }
}

TEST_P(TransformerOps, RmsNormAndItsGradient) {
  in_every_type([]<class T>() {
    for (const std::size_t w : {1, 2, 5, 16, 33, 128, 131}) {
      for (const std::size_t rows : {1, 4, 7}) check_rms_norm<T>(w, rows);
    }
  });
}

// Where each row adds less than half a unit in the last place, a sum that is rounded row by row
// stands still.
TEST_P(TransformerOps, RmsNormSumsItsGainBeforeItRounds) {
  constexpr std::size_t rows = 512;
  const Guarded<Bf16> x(Values(rows, 1.0)), gain(Values{1.0}), grad(Values(rows, 1.0 / 512));
  const Guarded<float> stats(Values(rows, 1.0));
  for (const int threads : counts({1, 3})) {
    const Guarded<Bf16> dx{Values(rows)}, dgain(Values{1.0});
    run_with_scratch(RmsNormBackward{grad, x, gain, stats, dx, dgain, 1, {}}, threads);
    EXPECT_EQ(dgain.values()[0], 2);
  }
}

TEST_P(TransformerOps, SwigluAndItsGradient) {
  in_every_type([]<class T>() {
    for (const std::size_t columns : {1, 7, 16, 37, 96}) {
      const std::size_t rows = 5;
      const Guarded<T> x(random_values(rows * 2 * columns, 1, 9), 1),
          grad(random_values(rows * columns, 2), 3);
      for (const int threads : counts({1, 3})) {
        const Guarded<T> out(rows * columns, 2), dx(rows * 2 * columns);
        run(Swiglu{x, out, columns}, threads);
        expect_near(out, ref::swiglu(x.values(), columns), 2e-6, "out");
        run(SwigluBackward{x, grad, dx, columns}, threads);
        expect_near(dx, ref::swiglu_backward(x.values(), grad.values(), columns), 3e-6, "dx");
      }
    }
  });
}

TEST_P(TransformerOps, SwigluAtTheEnds) {
  const double inf = INFINITY;
  const Values gates = {0, 100, -100, 1e30, -1e30, inf, -inf, NAN},
               want = {0, 100, 0, static_cast<double>(1e30f), 0, inf, 0},
               slope = {0.5, 1, 0, 1, 0, 1, 0};
  Values rows = gates;
  rows.resize(16, 1.0);  // one row: the gates, and ones
  const Guarded<float> x(rows), out(8), grad(Values(8, 1.0)), dx(16);
  run(Swiglu{x, out, 8}, 1);
  run(SwigluBackward{x, grad, dx, 8}, 1);
  for (std::size_t i = 0; i < want.size(); ++i) {
    expect_limit(out.values()[i], want[i]);
    expect_limit(dx.values()[i], slope[i]);
    expect_limit(dx.values()[8 + i], want[i]);
  }
  EXPECT_TRUE(std::isnan(out.values()[7]) && std::isnan(dx.values()[7]));
}

// Where 1 + e^-gate is 1, the result is gate * up, which f32 holds: for every number of 2 bytes,
// the nearest one.
template <class T>
void check_rounding() {
  constexpr std::size_t columns = 65536;
  Guarded<T> x(2 * columns);
  const Guarded<T> out(columns);
  for (std::size_t i = 0; i < columns; ++i) {
    x[i] = element<T>(static_cast<double>(32 + (i * 7 + i / 256) % 32) + 0.25 * (i % 4));
    x[columns + i] = T{static_cast<std::uint16_t>(i)};
  }
  run(Swiglu{x, out, columns}, 1);
  for (std::size_t i = 0; i < columns; ++i) {
    const double want = number(x[i]) * number(x[columns + i]);
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(number(out[i]))) << i;
    else
      ASSERT_EQ(out[i].bits, element<T>(want).bits) << number(x[i]) << " * " << i;
  }
}

TEST_P(TransformerOps, SwigluRoundsToTheNearest) {
  check_rounding<Bf16>();
  check_rounding<F16>();
}

template <class T>
void check_rotary(std::size_t head_dim) {
  SCOPED_TRACE(::testing::Message() << "head_dim " << head_dim);
  constexpr std::size_t sequence = 70, heads = 2, rows = 2 * sequence;
  const std::size_t stride = 3 * head_dim + 1;  // what stands behind the heads stays
  const Guarded<float> table(sequence * head_dim);
  run(RotaryTable{table, head_dim, 500.0, {}}, 1);
  const Values from = random_values<T>(rows * stride, 1);
  // On the way there, what is less than 2 is rounded once.
  const double rounding = has_two_bytes<T> ? gap_at(1, format_of<T>) : 0;
  for (const double direction : {1.0, -1.0}) {
    const Values want = ref::rotary(from, sequence, heads, head_dim, stride, 500.0, direction);
    for (const int threads : counts({1, 3})) {
      const Guarded<T> x(from, 1);
      run(Rotary{x, table, sequence, heads, head_dim, stride, direction < 0}, threads);
      expect_near(x, want, 1e-6, "x");
      run(Rotary{x, table, sequence, heads, head_dim, stride, direction > 0}, threads);
      expect_near(x, from, 1e-6 + rounding, "there and back");
    }
  }
}

TEST_P(TransformerOps, RotaryTurnsThereAndBack) {
  in_every_type([]<class T>() {
    for (const std::size_t head_dim : {2, 6, 32, 64, 80, 130}) check_rotary<T>(head_dim);
  });
}

TEST_P(TransformerOps, RotaryScoresDependOnDistanceAlone) {
  constexpr std::size_t sequence = 120, head_dim = 16;
  const Guarded<float> table(sequence * head_dim);
  run(RotaryTable{table, head_dim, 10000, {}}, 1);
  // A row is a query, then a key: the same ones at every position.
  const Values row = random_values(2 * head_dim, 1);
  Values all;
  for (std::size_t t = 0; t < sequence; ++t) all.insert(all.end(), row.begin(), row.end());
  const Guarded<float> x(all);
  run(Rotary{x, table, sequence, 2, head_dim, 2 * head_dim, false}, 2);
  const Values turned = x.values();
  const auto score = [&](std::size_t query, std::size_t key) {
    double s = 0;
    for (std::size_t d = 0; d < head_dim; ++d)
      s += turned[query * 2 * head_dim + d] * turned[key * 2 * head_dim + head_dim + d];
    return s;
  };
  for (const std::size_t distance : {0, 1, 3, 40}) {
    for (const std::size_t key : {1, 7, 79})
      EXPECT_NEAR(score(key + distance, key), score(distance, 0), 1e-5);
  }
  EXPECT_GT(std::fabs(score(3, 0) - score(0, 0)), 0.01);
  for (std::size_t t = 0; t < sequence; ++t) {  // each pair keeps its length
    for (std::size_t i = 0; i < head_dim / 2; ++i) {
      const std::size_t at = t * 2 * head_dim + i;
      EXPECT_NEAR(std::hypot(turned[at], turned[at + head_dim / 2]),
                  std::hypot(row[i], row[i + head_dim / 2]), 1e-6);
    }
  }
}

// How far pair i of a head of 128 turns a position, read from the row of a position where that is
// less than half a turn.
double frequency(std::size_t i, std::size_t position, const RotaryScaling& scaling) {
  const Guarded<float> table((position + 1) * 128);
  run(RotaryTable{table, 128, 500000, scaling}, 1);
  const Values angles = table.values();
  return std::atan2(angles[position * 128 + 64 + i], angles[position * 128 + i]) /
         static_cast<double>(position);
}
TEST_P(TransformerOps, RotaryTableScalesAsLlama31Does) {
  const RotaryScaling llama{8, 1, 4, 8192};
  // Pair i of 64 has the frequency 500000^(-i / 64) and the wavelength 2 pi / frequency. 0: 1.
  EXPECT_NEAR(frequency(0, 1, llama), 1, 1e-7);
  // 28: wavelength 1956.5, just below 8192 / 4 = 2048: as it was.
  EXPECT_NEAR(frequency(28, 900, llama), 3.21144600e-3, 1e-9);
  // 32: 500000^(-1/2) = sqrt(2) / 1000, wavelength 4442.88; smooth = (8192 / 4442.88 - 1) / 3 =
  // 0.281282; so times 0.718718 / 8 + 0.281282 = 0.371122.
  EXPECT_NEAR(frequency(32, 5000, llama), 5.24846161e-4, 1e-10);
  // 35: wavelength 8218.7, just beyond 8192 / 1: an eighth of 7.64496988e-4.
  EXPECT_NEAR(frequency(35, 20000, llama), 9.55621235e-5, 1e-11);
  EXPECT_NEAR(frequency(35, 3000, {}), 7.64496988e-4, 1e-10);
  const RotaryScaling linear{4, 1, 4, 0};
  EXPECT_NEAR(frequency(0, 3, linear), 0.25, 1e-7);
  EXPECT_NEAR(frequency(32, 8000, linear), 3.53553391e-4, 1e-10);  // sqrt(2) / 4000
}

TEST_P(TransformerOps, RotaryWantsPairs) {
  const Guarded<float> x(30), table(15);
  EXPECT_THROW(run(RotaryTable{table, 5, 10000, {}}, 1), Error);
  EXPECT_THROW(run(Rotary{x, table, 3, 1, 5, 10, false}, 1), Error);
  EXPECT_THROW(run(Rotary{x, table, 3, 3, 4, 10, false}, 1), Error);  // longer than a row
}

}  // namespace
}  // namespace shardmark
