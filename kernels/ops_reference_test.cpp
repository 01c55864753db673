// Are the gradients that kernels are held against right themselves? Against finite differences of
// the references, in double.
#include "kernels/ops_reference.hpp"

#include "kernels/transformer_reference.hpp"

namespace shardmark {
namespace {

using namespace testing;
namespace ref = testing::reference;

void expect_all_near(const Values& got, const Values& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got[i], want[i], 1e-7 * (1 + std::fabs(want[i])));
}

TEST(Reference, LayerNormGradient) {
  const Values x = random_values(12, 1), gain = random_values(4, 2), bias = random_values(4, 3),
               g = random_values(12, 4);
  const auto r = ref::layer_norm_backward(g, x, gain, ref::layer_norm(x, gain, bias).stats);
  expect_all_near(
      r.dx, finite_differences(
                [&](const Values& v) { return dot(g, ref::layer_norm(v, gain, bias).out); }, x));
  expect_all_near(
      r.dgain, finite_differences(
                   [&](const Values& v) { return dot(g, ref::layer_norm(x, v, bias).out); }, gain));
  expect_all_near(
      r.dbias, finite_differences(
                   [&](const Values& v) { return dot(g, ref::layer_norm(x, gain, v).out); }, bias));
}
TEST(Reference, GeluGradient) {
  for (double x = -6; x < 6; x += 0.37) {
    EXPECT_NEAR(ref::gelu_slope(x), (ref::gelu(x + 1e-5) - ref::gelu(x - 1e-5)) / 2e-5, 1e-9);
  }
}
TEST(Reference, RmsNormGradient) {
  const Values x = random_values(12, 1), gain = random_values(4, 2), g = random_values(12, 3);
  const auto r = ref::rms_norm_backward(g, x, gain, ref::rms_norm(x, gain, 1e-3).stats);
  const auto of = [&](const Values& v, const Values& w) {
    return dot(g, ref::rms_norm(v, w, 1e-3).out);
  };
  expect_all_near(r.dx, finite_differences([&](const Values& v) { return of(v, gain); }, x));
  expect_all_near(r.dgain, finite_differences([&](const Values& v) { return of(x, v); }, gain));
}
TEST(Reference, SwigluGradient) {
  const Values x = random_values(24, 1, 5), g = random_values(12, 2);
  const auto of = [&](const Values& v) { return dot(g, ref::swiglu(v, 4)); };
  expect_all_near(ref::swiglu_backward(x, g, 4), finite_differences(of, x));
}
TEST(Reference, RotaryGradient) {
  const Values x = random_values(33, 1), g = random_values(33, 2);
  const auto turned = [](const Values& v, double direction) {
    return ref::rotary(v, 3, 2, 4, 11, 100, direction);
  };
  expect_all_near(turned(g, -1),
                  finite_differences([&](const Values& v) { return dot(g, turned(v, 1)); }, x));
}
TEST(Reference, AttentionGradient) {
  for (const std::size_t kv_heads : {1, 2, 4}) {
    const ref::Shape s{2, 5, 4, kv_heads, 3};
    const Values qkv = random_values(10 * s.qkv_width(), 1), g = random_values(10 * s.width(), 2);
    const auto of = [&](const Values& v) { return dot(g, ref::attention(v, s).out); };
    expect_all_near(ref::attention_backward(qkv, ref::attention(qkv, s).out, g, s),
                    finite_differences(of, qkv));
  }
}

}  // namespace
}  // namespace shardmark
