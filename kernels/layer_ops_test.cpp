// Do the ops between products compute what their formulas say? Every target, every element type,
// against plain loops in double; sizes that fill no vector; guards around every output. What the
// loss does: loss_ops_test.cpp.
#include <gtest/gtest.h>

#include <array>

#include "kernels/ops_reference.hpp"

namespace shardmark {
namespace {

using namespace testing;
namespace ref = testing::reference;

class LayerOps : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Every, LayerOps, ::testing::ValuesIn(targets()),
                         [](const auto& i) { return i.param; });

// Rows: a sum kept in 2 bytes would stand still on the way.
std::size_t many() { return on_gpu() ? 700 : 3000; }

template <class T>
void check_column_sum(std::size_t rows, std::size_t columns) {
  const Values x = growing_values<T>(rows * columns, 1), before = random_values<T>(columns, 2);
  Values want = before;
  for (std::size_t i = 0; i < x.size(); ++i) want[i % columns] += x[i];
  for (const int threads : counts({1, 3})) {
    const Guarded<T> gx(x), total(before);
    run(ColumnSum{gx.view(), total}, threads);
    expect_near(total, want, 1e-5, "total");
  }
}

TEST_P(LayerOps, ColumnSumAdds) {
  in_every_type([]<class T>() {
    for (const std::size_t columns : {1, 3, 16, 37, 128}) {
      for (const std::size_t rows : {1, 7, 8, 33}) check_column_sum<T>(rows, columns);
    }
    check_column_sum<T>(many(), 37);
    check_column_sum<T>(1100, 16);  // on a GPU: packs of four rows at once, then of one
    check_column_sum<T>(9, 4111);
  });
}

// positions: without them the rows are the table's alone.
template <class T>
void check_embed(std::size_t rows, std::size_t w, bool with_positions) {
  constexpr std::size_t vocabulary = 5, sequence = 4;
  const Values table = random_values<T>(vocabulary * w, 1),
               positions = random_values<T>(sequence * w, 2), grad = growing_values<T>(rows * w, 3);
  Guarded<std::int32_t> tokens(rows);
  Values want(rows * w), dtable = table, dpositions = positions;  // gradients add to what is there
  for (std::size_t r = 0; r < rows; ++r) {
    tokens[r] = static_cast<std::int32_t>(r % 3 ? 4 : r % 4);  // one often, one never
    for (std::size_t i = 0; i < w; ++i) {
      const std::size_t t = static_cast<std::size_t>(tokens[r]) * w + i, p = r % sequence * w + i;
      want[r * w + i] = table[t] + (with_positions ? positions[p] : 0);
      dtable[t] += grad[r * w + i];
      dpositions[p] += grad[r * w + i];
    }
  }
  const Guarded<T> gt(table), gp(positions), out(rows * w), gg(grad);
  const View at = with_positions ? gp.view() : View();
  run(Embed{tokens.view(), gt.view(), at, out, w, sequence}, 2);
  expect_near(out, want, 1e-7, "out");
  run_with_scratch(EmbedBackward{tokens.view(), gg.view(), gt, at, w, sequence, {}}, 2);
  expect_near(gt, dtable, 2e-5, "table");
  expect_near(gp, with_positions ? dpositions : positions, 2e-5, "positions");
  run_with_scratch(EmbedBackward{tokens.view(), gg.view(), {}, {}, w, sequence, {}},
                   1);  // both frozen
  tokens[3] = 5;
  if (on_gpu()) {  // where the host does not look
    run(Embed{tokens.view(), gt.view(), gp.view(), out, w, sequence});
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(std::isnan(number(out[i])), i / w == 3) << i;
  } else {
    EXPECT_THROW(run(Embed{tokens.view(), gt.view(), gp.view(), out, w, sequence}), Error);
  }
}

TEST_P(LayerOps, EmbedAndItsGradient) {
  in_every_type([]<class T>() {
    for (const bool with_positions : {true, false}) {
      for (const std::size_t w : {19, 64, 131}) check_embed<T>(8, w, with_positions);
      check_embed<T>(many(), 19, with_positions);
    }
  });
}

// Rows that meet in one row of the table are added one after the other, as they come.
TEST_P(LayerOps, EmbedBackwardAddsInTheOrderOfRows) {
  constexpr std::size_t w = 67, rows = 50;
  const Guarded<float> grad(random_values(rows * w, 1));
  Guarded<float> want(3 * w);
  Guarded<std::int32_t> tokens(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    tokens[r] = static_cast<std::int32_t>(r * r % 3);
    for (std::size_t i = 0; i < w; ++i)
      want[static_cast<std::size_t>(tokens[r]) * w + i] += grad[r * w + i];
  }
  for (const int threads : counts({1, 2, 3, 8})) {
    const Guarded<float> table(3 * w);
    run_with_scratch(EmbedBackward{tokens.view(), grad.view(), table, {}, w, 0, {}}, threads);
    EXPECT_EQ(table.values(), want.values());
  }
}

TEST_P(LayerOps, OneHotStaysWithinItsSequence) {
  constexpr std::size_t w = 100, sequence = 3, rows = 6;
  const Guarded<std::int32_t> tokens(Values{1, 2, 3, 255, 0, 9});
  Values want(rows * w);
  // Of each row: its own token, then the one before, 256 further on, both modulo the width.
  const std::array<std::array<std::size_t, 2>, 6> places = {{{1, w},
                                                             {2, (256 + 1) % w},
                                                             {3, (256 + 2) % w},
                                                             {255 % w, w},
                                                             {0, (256 + 255) % w},
                                                             {9, (256 + 0) % w}}};
  for (std::size_t r = 0; r < rows; ++r) {
    for (const std::size_t at : places[r]) {
      if (at < w) want[r * w + at] += 1;
    }
  }
  in_every_type([&]<class T>() {
    const Guarded<T> out(rows * w);
    run(OneHot{tokens.view(), out, w, sequence, 2}, 2);
    EXPECT_EQ(out.values(), want);
    const Guarded<T> narrow(rows);  // all places are the same one
    run(OneHot{tokens.view(), narrow, 1, sequence, 2}, 1);
    EXPECT_EQ(narrow.values(), (Values{1, 2, 2, 1, 2, 2}));
  });
}

template <class T>
void check_layer_norm(std::size_t rows, std::size_t w, float epsilon) {
  SCOPED_TRACE(::testing::Message() << rows << " rows of " << w);
  const Values x = random_values<T>(rows * w, 1, 3), gain = random_values<T>(w, 2),
               bias = random_values<T>(w, 3), grad = growing_values<T>(rows * w, 4),
               before = random_values<T>(rows * w, 5), before_w = random_values<T>(w, 6);
  const ref::Normed want = ref::layer_norm(x, gain, bias, static_cast<double>(epsilon));
  const ref::NormGradients back = ref::layer_norm_backward(grad, x, gain, want.stats);
  for (const int threads : counts({1, 3})) {
    const Guarded<T> gx(x, 1), gg(gain), gb(bias, 3), out(rows * w, 2), grads(grad);
    const Guarded<float> stats(2 * rows);
    run(LayerNorm{gx.view(), gg.view(), gb.view(), out, stats, w, epsilon}, threads);
    expect_near(out, want.out, 2e-5, "out");
    const Guarded<T> dx(before), dgain(before_w), dbias(before_w);
    run_with_scratch(
        LayerNormBackward{
            grads.view(), gx.view(), gg.view(), stats.view(), dx, dgain, dbias, w, {}},
        threads);
    // One element alone: rstd is 316, and all is rounding. Many rows: of what cancels in the sum.
    const double scale = w == 1 ? 1e-2 : 5e-5, gain_scale = rows == many() ? 1e-3 : scale;
    expect_near(dx, plus(back.dx, before), scale, "dx");
    expect_near(dgain, plus(back.dgain, before_w), gain_scale, "dgain");
    expect_near(dbias, plus(back.dbias, before_w), 1e-5, "dbias");
    run_with_scratch(
        LayerNormBackward{grads.view(), gx.view(), gg.view(), stats.view(), dx, {}, {}, w, {}},
        threads);
  }
}

TEST_P(LayerOps, LayerNormAndItsGradient) {
  in_every_type([]<class T>() {
    for (const std::size_t w : {1, 2, 5, 16, 33, 128, 131}) {
      for (const std::size_t rows : {1, 4, 7}) check_layer_norm<T>(rows, w, 1e-5f);
    }
    check_layer_norm<T>(4, 33, 0.25f);
    check_layer_norm<T>(many(), 37, 1e-5f);
    check_layer_norm<T>(3, 4104, 1e-5f);  // more than a GPU's block keeps in shared memory
  });
}

// off: by how many elements the first operand stands off a multiple of 64 bytes; others more.
template <class T>
void check_gelu(std::size_t rows, std::size_t columns, std::size_t off = 1) {
  const std::size_t n = rows * columns;
  const Values x = random_values<T>(n, 1, 9), grad = growing_values<T>(n, 2),
               before = random_values<T>(columns, 3);
  Values want = x, back = x, bias = before;
  for (std::size_t i = 0; i < n; ++i) {
    want[i] = ref::gelu(x[i]);
    back[i] = grad[i] * ref::gelu_slope(x[i]);
    bias[i % columns] += back[i];
  }
  for (const int threads : counts({1, 3})) {
    const Guarded<T> gx(x, off), out(n, 2 * off), gg(grad, 3 * off), gb(before);
    run(Gelu{gx.view(), out}, threads);
    expect_near(out, want, 1e-6, "out");
    run(GeluBackward{gx.view(), gg, gb, columns}, threads);
    expect_near(gg, back, 3e-6, "grad");
    expect_near(gb, bias, 1e-5, "bias_grad");
    run(GeluBackward{gx.view(), gg, {}, columns}, threads);
  }
}

TEST_P(LayerOps, GeluAndItsGradient) {
  in_every_type([]<class T>() {
    check_gelu<T>(37, 21);
    check_gelu<T>(many(), 21);
    check_gelu<T>(1100, 8, 0);
    check_gelu<T>(3, 4111);
  });
}

TEST_P(LayerOps, GeluAtTheEnds) {
  const double inf = INFINITY;
  in_every_type([&]<class T>() {
    const double far = std::is_same_v<T, F16> ? 60000 : 1e30;
    const Guarded<T> x(Values{0, 100, -100, far, -far, inf, -inf, NAN});
    const Guarded<T> out(x.size()), grad(Values(8, 1.0));
    run(Gelu{x.view(), out}, 1);
    run(GeluBackward{x.view(), grad, {}, 8}, 1);
    const Values want = {0, 100, 0, number(x[3]), 0, inf, 0}, slope = {0.5, 1, 0, 1, 0, 1, 0};
    for (std::size_t i = 0; i < want.size(); ++i) {
      expect_limit(number(out[i]), want[i]);
      expect_limit(number(grad[i]), slope[i]);
    }
    EXPECT_TRUE(std::isnan(number(out[7])) && std::isnan(number(grad[7])));
  });
}

}  // namespace
}  // namespace shardmark
