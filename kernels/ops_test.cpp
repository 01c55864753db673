// Does attention compute what its formula says? Every instruction set of this machine, against
// plain loops in double; sizes that fill no vector and no tile; guards around every output. And do
// these loops' own gradients agree with finite differences? Other ops: product_test.cpp,
// layer_ops_test.cpp, loss_ops_test.cpp; arrays: cpu/memory_test.cpp.
#include <gtest/gtest.h>

#include "kernels/cpu/math.hpp"
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

void check_attention(const ref::Shape& s, double scale) {
  SCOPED_TRACE(::testing::Message() << "sequence " << s.sequence << " head_dim " << s.head_dim);
  const std::size_t rows = s.batch * s.sequence;
  const Values qkv = random_values(rows * 3 * s.width(), 1, scale),
               grad = random_values(rows * s.width(), 2);
  Values lse;
  const Values want = ref::attention(qkv, s, &lse), back = ref::attention_backward(qkv, grad, s);
  for (const int threads : {1, 2}) {
    const Guarded<float> in(qkv), out(want.size()), gl(lse.size()), gg(grad),
        dqkv(Values(qkv.size(), 1e9));
    cpu::run(Attention{in.view(), out, gl, s.batch, s.sequence, s.heads, s.heads, s.head_dim},
             threads);
    expect_near(out, want, 3e-6 * scale, "out");
    expect_near(gl, lse, 3e-6 * scale, "lse");
    cpu::run(AttentionBackward{in.view(),
                               out.view(),
                               gl.view(),
                               gg.view(),
                               dqkv,
                               s.batch,
                               s.sequence,
                               s.heads,
                               s.heads,
                               s.head_dim,
                               {}},
             threads);
    expect_near(dqkv, back, 1e-5 * scale * scale, "dqkv");
  }
}

TEST_P(Ops, AttentionAndItsGradient) {
  for (const std::size_t sequence : {1, 2, 31, 32, 33, 65, 130}) {
    for (const std::size_t head_dim : {1, 8, 20, 32, 40, 64, 80})
      check_attention({1, sequence, 2, head_dim}, 1);
  }
  check_attention({2, 70, 3, 64}, 4);   // scores far apart
  check_attention({3, 40, 1, 150}, 1);  // a head wider than two parts
}

TEST_P(Ops, AttentionOfOneKeyIsItsValue) {
  const Guarded<float> in(
      Values{1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8, 9, 9, 9, 9, 1, 1, 1, 1, -1, -2, -3, -4});
  const Guarded<float> out(8), lse(2);
  cpu::run(Attention{in.view(), out, lse, 2, 1, 1, 1, 4}, 1);
  expect_near(out, {5, 6, 7, 8, -1, -2, -3, -4}, 0, "out");
  expect_near(lse, {0, 18}, 1e-6, "lse");  // 0, and 4 * 9 / sqrt(4)
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
TEST(Reference, AttentionGradient) {
  const ref::Shape s{2, 5, 2, 3};
  const Values qkv = random_values(2 * 5 * 18, 1), g = random_values(2 * 5 * 6, 2);
  const Values want =
      finite_differences([&](const Values& v) { return dot(g, ref::attention(v, s)); }, qkv);
  const Values got = ref::attention_backward(qkv, g, s);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-8);
}

}  // namespace
}  // namespace shardmark
