// Does the loss compute what its formula says, and its gradient? Every target, every element type,
// against plain loops in double.
#include <gtest/gtest.h>

#include "kernels/ops_reference.hpp"

namespace shardmark {
namespace {

using namespace testing;
namespace ref = testing::reference;

class LossOps : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Every, LossOps, ::testing::ValuesIn(targets()),
                         [](const auto& i) { return i.param; });

Values softmax_minus_onehot(const Values& logits, const std::vector<std::int32_t>& targets,
                            std::size_t classes, double factor) {
  Values g(logits.size());
  for (std::size_t r = 0; r < targets.size(); ++r) {
    double total = 0;
    for (std::size_t c = 0; c < classes; ++c) total += std::exp(logits[r * classes + c]);
    for (std::size_t c = 0; c < classes; ++c) {
      const double one = static_cast<std::size_t>(targets[r]) == c ? 1 : 0;
      g[r * classes + c] = (std::exp(logits[r * classes + c]) / total - one) * factor;
    }
  }
  return g;
}

template <class T>
void check_cross_entropy(std::size_t classes) {
  SCOPED_TRACE(::testing::Message() << classes << " classes");
  const std::size_t rows = 21;
  const Values logits = random_values<T>(rows * classes, 1, 8);
  std::vector<std::int32_t> wanted(rows);
  Guarded<std::int32_t> targets(rows);
  for (std::size_t r = 0; r < rows; ++r)
    targets[r] = wanted[r] = static_cast<std::int32_t>(r * 13 % classes);
  const double loss = ref::cross_entropy(logits, wanted, classes);
  for (const double scale : {0.5, 0.5 * 1024}) {
    const Values back =
        softmax_minus_onehot(logits, wanted, classes, scale / static_cast<double>(rows));
    for (const int threads : counts({1, 2})) {
      const Guarded<T> x(logits);
      const Guarded<float> lse(rows), control(Values{0, 0, 0, 1024, 0});
      const Guarded<double> total(Values{7, 1});
      run(CrossEntropy{x.view(), targets.view(), lse, total, classes, 1, 0.5}, threads);
      EXPECT_EQ(total[0], 7);
      EXPECT_NEAR(total[1], 1 + 0.5 * loss, 1e-6);
      run(CrossEntropyBackward{targets.view(), lse.view(), x, classes, 0.5,
                               scale > 1 ? control.view() : View()},
          threads);
      expect_near(x, back, 1e-7 * scale, "gradient");
    }
  }
}

TEST_P(LossOps, CrossEntropyAndItsGradient) {
  in_every_type([]<class T>() {
    for (const std::size_t classes : {1, 2, 17, 64, 256, 259, 2309})
      check_cross_entropy<T>(classes);
  });
}

TEST_P(LossOps, CrossEntropyOfLargeLogits) {
  in_every_type([]<class T>() {
    const Guarded<T> x(Values{1000, 0, -1000, -1000});
    const Guarded<float> lse(2);
    const Guarded<std::int32_t> targets(Values{0, 1});
    const Guarded<double> loss(Values{0});
    run(CrossEntropy{x.view(), targets.view(), lse, loss, 2, 0, 1}, 1);
    EXPECT_NEAR(loss[0], std::log(2.0) / 2, 1e-6);  // 0 and log 2
  });
}

// The reference's gradient against finite differences: what the kernels are held against is itself
// proven.
TEST(Reference, CrossEntropyGradient) {
  const Values logits = random_values(3 * 5, 1, 4);
  const std::vector<std::int32_t> targets{4, 0, 2};
  const auto f = [&](const Values& x) { return ref::cross_entropy(x, targets, 5); };
  const Values want = finite_differences(f, logits),
               got = softmax_minus_onehot(logits, targets, 5, 1.0 / 3);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-8);
}

}  // namespace
}  // namespace shardmark
