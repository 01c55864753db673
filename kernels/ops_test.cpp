// Do the ops that models are made of compute what their formulas say? Every instruction set of this
// machine, against plain loops in double; sizes that fill no vector and no tile; guards around
// every output. Arrays: cpu/memory_test.cpp.
#include <gtest/gtest.h>

#include <array>

#include "kernels/cpu/math.hpp"
#include "kernels/cpu/table.hpp"
#include "kernels/ops_reference.hpp"

namespace shardmark {
namespace {

using namespace testing;
namespace ref = testing::reference;

class Ops : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { cpu::use_instruction_set(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Every, Ops, ::testing::ValuesIn(cpu::instruction_sets()),
                         [](const auto& i) { return i.param; });

void check_product(std::size_t m, std::size_t n, std::size_t k, int how, int threads) {
  const bool ta = how & 1, tb = how & 2, adds = how & 4, bias = how & 8, residual = how & 16;
  const Values a = random_values(m * k, 1), b = random_values(k * n, 2),
               c = random_values(m * n, 3), v = random_values(n, 4), r = random_values(m * n, 5);
  Values want = ref::matmul(a, b, m, n, k, ta, tb);
  for (std::size_t i = 0; i < m * n; ++i)
    want[i] += (adds ? c[i] : 0) + (bias ? v[i % n] : 0) + (residual ? r[i] : 0);
  const Guarded<float> ga(a), gb(b), gc(c), gv(v), gr(r);
  Matmul o;
  o.a = ga.view(), o.b = gb.view(), o.c = gc;
  o.m = m, o.n = n, o.k = k;
  o.ta = ta, o.tb = tb, o.adds = adds;
  if (bias) o.bias = gv.view();
  if (residual) o.residual = gr.view();
  const Guarded<std::uint8_t> scratch(cpu::scratch_bytes(o, threads));
  o.scratch = scratch;
  cpu::run(o, threads);
  expect_near(gc, want, 1e-5, "c");
  // The product that builds without oneDNN use.
  Guarded<float> own(c);
  cpu::table().f32.product({&ga[0], &gb[0], bias ? &gv[0] : nullptr, residual ? &gr[0] : nullptr,
                            &own[0], m, n, k, ta, tb, adds, 0, m});
  expect_near(own, want, 1e-5, "own c");
}

TEST_P(Ops, Matmul) {
  const std::size_t sizes[][3] = {{1, 1, 1},    {3, 5, 7},      {33, 17, 65},
                                  {64, 64, 64}, {70, 130, 100}, {1, 200, 3}};
  for (const auto& s : sizes) {
    for (int how = 0; how < 32; ++how) {
      SCOPED_TRACE(how);
      check_product(s[0], s[1], s[2], how, 1);
    }
  }
  check_product(65, 33, 129, 31, 2);
  check_product(65, 33, 129, 0, 1);  // and back to one thread
}

TEST_P(Ops, ColumnSumAdds) {
  for (const std::size_t columns : {1, 3, 16, 37, 128}) {
    for (const std::size_t rows : {1, 7, 8, 33}) {
      const Values x = random_values(rows * columns, 1), before = random_values(columns, 2);
      Values want = before;
      for (std::size_t i = 0; i < x.size(); ++i) want[i % columns] += x[i];
      for (const int threads : {1, 3}) {
        const Guarded<float> gx(x), total(before);
        cpu::run(ColumnSum{gx.view(), total}, threads);
        expect_near(total, want, 1e-5, "total");
      }
    }
  }
}

TEST_P(Ops, EmbedAndItsGradient) {
  constexpr std::size_t w = 19, vocabulary = 5, sequence = 4, rows = 8;
  const Values table = random_values(vocabulary * w, 1), positions = random_values(sequence * w, 2),
               grad = random_values(rows * w, 3);
  Guarded<std::int32_t> tokens(Values{0, 4, 4, 1, 2, 0, 4, 3});
  Values want(rows * w), dtable = table, dpositions = positions;  // gradients add to what is there
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < w; ++i) {
      const std::size_t t = static_cast<std::size_t>(tokens[r]) * w + i, p = r % sequence * w + i;
      want[r * w + i] = table[t] + positions[p];
      dtable[t] += grad[r * w + i];
      dpositions[p] += grad[r * w + i];
    }
  }
  const Guarded<float> gt(table), gp(positions), out(rows * w), gg(grad);
  cpu::run(Embed{tokens.view(), gt.view(), gp.view(), out, w, sequence}, 2);
  expect_near(out, want, 1e-7, "out");
  cpu::run(EmbedBackward{tokens.view(), gg.view(), gt, gp, w, sequence}, 2);
  expect_near(gt, dtable, 1e-6, "table");
  expect_near(gp, dpositions, 1e-6, "positions");
  cpu::run(EmbedBackward{tokens.view(), gg.view(), {}, {}, w, sequence}, 1);  // both frozen
  tokens[3] = 5;
  EXPECT_THROW(cpu::run(Embed{tokens.view(), gt.view(), gp.view(), out, w, sequence}, 1), Error);
}

TEST_P(Ops, OneHotStaysWithinItsSequence) {
  constexpr std::size_t w = 100, sequence = 3, rows = 6;
  const Guarded<std::int32_t> tokens(Values{1, 2, 3, 255, 0, 9});
  const Guarded<float> out(rows * w);
  cpu::run(OneHot{tokens.view(), out, w, sequence, 2}, 2);
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
  expect_near(out, want, 0, "out");
}

TEST_P(Ops, LayerNormAndItsGradient) {
  for (const std::size_t w : {1, 2, 5, 16, 33, 128, 131}) {
    for (const std::size_t rows : {1, 4, 7}) {
      const Values x = random_values(rows * w, 1, 3), gain = random_values(w, 2),
                   bias = random_values(w, 3), grad = random_values(rows * w, 4),
                   before = random_values(rows * w, 5), before_w = random_values(w, 6);
      const ref::Normed want = ref::layer_norm(x, gain, bias);
      const ref::NormGradients back = ref::layer_norm_backward(grad, x, gain, want.stats);
      for (const int threads : {1, 3}) {
        const Guarded<float> gx(x, 1), gg(gain), gb(bias, 3), out(rows * w, 2), stats(2 * rows),
            grads(grad);
        cpu::run(LayerNorm{gx.view(), gg.view(), gb.view(), out, stats, w}, threads);
        expect_near(out, want.out, 2e-5, "out");
        const Guarded<float> dx(before), dgain(before_w), dbias(before_w);
        cpu::run(LayerNormBackward{grads.view(), gx.view(), gg.view(), stats.view(), dx, dgain,
                                   dbias, w},
                 threads);
        const double scale =
            w == 1 ? 1e-2 : 5e-5;  // one element alone: rstd is 316, and all is rounding
        expect_near(dx, plus(back.dx, before), scale, "dx");
        expect_near(dgain, plus(back.dgain, before_w), scale, "dgain");
        expect_near(dbias, plus(back.dbias, before_w), 1e-5, "dbias");
        cpu::run(LayerNormBackward{grads.view(), gx.view(), gg.view(), stats.view(), dx, {}, {}, w},
                 threads);
      }
    }
  }
}

TEST_P(Ops, GeluAndItsGradient) {
  Values x = random_values(37 * 21, 1, 9), grad = random_values(37 * 21, 2), want = x, back = x;
  Values bias = random_values(21, 3), before = bias;
  for (std::size_t i = 0; i < x.size(); ++i) {
    want[i] = ref::gelu(x[i]);
    back[i] = grad[i] * ref::gelu_slope(x[i]);
    bias[i % 21] += back[i];
  }
  for (const int threads : {1, 3}) {
    const Guarded<float> gx(x, 1), out(x.size(), 2), gg(grad, 3), gb(before);
    cpu::run(Gelu{gx.view(), out}, threads);
    expect_near(out, want, 1e-6, "out");
    cpu::run(GeluBackward{gx.view(), gg, gb, 21}, threads);
    expect_near(gg, back, 3e-6, "grad");
    expect_near(gb, bias, 1e-5, "bias_grad");
    cpu::run(GeluBackward{gx.view(), gg, {}, 21}, threads);
  }
}

TEST_P(Ops, GeluAtTheEnds) {
  const double inf = INFINITY;
  const Guarded<float> x(Values{0, 100, -100, 1e30, -1e30, inf, -inf, NAN});
  const Guarded<float> out(x.size()), grad(Values(8, 1.0));
  cpu::run(Gelu{x.view(), out}, 1);
  cpu::run(GeluBackward{x.view(), grad, {}, 8}, 1);
  const Values want = {0, 100, 0, static_cast<double>(1e30f), 0, inf, 0},
               slope = {0.5, 1, 0, 1, 0, 1, 0};
  for (std::size_t i = 0; i < want.size(); ++i) {
    expect_limit(out[i], want[i]);
    expect_limit(grad[i], slope[i]);
  }
  EXPECT_TRUE(std::isnan(out[7]) && std::isnan(grad[7]));
}

TEST_P(Ops, CrossEntropyAndItsGradient) {
  for (const std::size_t classes : {1, 2, 17, 64, 256, 259}) {
    const std::size_t rows = 21;
    const Values logits = random_values(rows * classes, 1, 8);
    std::vector<std::int32_t> wanted(rows);
    Guarded<std::int32_t> targets(rows);
    for (std::size_t r = 0; r < rows; ++r)
      targets[r] = wanted[r] = static_cast<std::int32_t>(r * 13 % classes);
    const double loss = ref::cross_entropy(logits, wanted, classes);
    const auto f = [&](const Values& x) { return 0.5 * ref::cross_entropy(x, wanted, classes); };
    const Values back = classes <= 17 ? finite_differences(f, logits) : Values();
    for (const int threads : {1, 2}) {
      const Guarded<float> x(logits), lse(rows);
      const Guarded<double> total(Values{7, 1});
      cpu::run(CrossEntropy{x.view(), targets.view(), lse, total, classes, 1, 0.5}, threads);
      EXPECT_EQ(total[0], 7);
      EXPECT_NEAR(total[1], 1 + 0.5 * loss, 1e-6);
      cpu::run(CrossEntropyBackward{targets.view(), lse.view(), x, classes, 0.5, {}}, threads);
      if (!back.empty()) expect_near(x, back, 1e-7, "gradient");
      const Values g = x.values();  // the gradient of each row sums to nothing
      for (std::size_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (std::size_t c = 0; c < classes; ++c) sum += g[r * classes + c];
        EXPECT_NEAR(sum, 0, 1e-6);
      }
    }
  }
}

TEST_P(Ops, CrossEntropyOfLargeLogits) {
  const Guarded<float> x(Values{1000, 0, -1000, -1000}), lse(2);
  const Guarded<std::int32_t> targets(Values{0, 1});
  const Guarded<double> loss(Values{0});
  cpu::run(CrossEntropy{x.view(), targets.view(), lse, loss, 2, 0, 1}, 1);
  EXPECT_NEAR(loss[0], std::log(2.0) / 2, 1e-6);  // 0 and log 2
}

// The references' gradients against finite differences: what the kernels are held against is itself
// proven.
TEST(Reference, LayerNormGradient) {
  const Values x = random_values(12, 1), gain = random_values(4, 2), bias = random_values(4, 3),
               g = random_values(12, 4);
  const auto r = ref::layer_norm_backward(g, x, gain, ref::layer_norm(x, gain, bias).stats);
  const auto near = [](const Values& a, const Values& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_NEAR(a[i], b[i], 1e-7 * (1 + std::fabs(b[i])));
  };
  near(r.dx, finite_differences(
                 [&](const Values& v) { return dot(g, ref::layer_norm(v, gain, bias).out); }, x));
  near(r.dgain,
       finite_differences([&](const Values& v) { return dot(g, ref::layer_norm(x, v, bias).out); },
                          gain));
  near(r.dbias,
       finite_differences([&](const Values& v) { return dot(g, ref::layer_norm(x, gain, v).out); },
                          bias));
}
TEST(Reference, GeluGradient) {
  for (double x = -6; x < 6; x += 0.37) {
    EXPECT_NEAR(ref::gelu_slope(x), (ref::gelu(x + 1e-5) - ref::gelu(x - 1e-5)) / 2e-5, 1e-9);
  }
}

}  // namespace
}  // namespace shardmark
