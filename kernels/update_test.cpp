// Do AdamW, the sum over ranks give an element the same bits wherever
// it stands, and the right ones? Every target.
#include <gtest/gtest.h>

#include <bit>
#include <memory>

#include "kernels/ops_reference.hpp"

namespace shardmark {
namespace {

using namespace testing;

class Update : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Every, Update, ::testing::ValuesIn(targets()),
                         [](const auto& i) { return i.param; });

bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

TEST_P(Update, AdamWFollowsTheFormula) {
  constexpr std::size_t n = 37;
  const AdamParameters with{0.1f, 0.9f, 0.95f, 1e-8f, 0.01f};
  Values w = random_values(n, 1), m(n), v(n);
  Guarded<float> gw(w), gm(m), gv(v), control(Values{0.5, 0, 0, 1, 0});
  for (int t = 1; t <= 3; ++t) {
    const Values g = random_values(n, static_cast<unsigned>(t + 1));
    control[2] = static_cast<float>(t);
    Guarded<float> grad(g);
    run(AdamW{gw, {}, grad.view(), gm, gv, control.view(), with}, 1);
    const double b1 = with.beta1, b2 = with.beta2;
    for (std::size_t i = 0; i < n; ++i) {
      m[i] = b1 * m[i] + (1 - b1) * 0.5 * g[i];
      v[i] = b2 * v[i] + (1 - b2) * 0.25 * g[i] * g[i];
      w[i] -= double{with.lr} *
              (m[i] / (1 - std::pow(b1, t)) / (std::sqrt(v[i] / (1 - std::pow(b2, t))) + 1e-8) +
               double{with.decay} * w[i]);
    }
    expect_near(gw, w, 1e-5, "weight");
    expect_near(gm, m, 1e-6, "first");
    expect_near(gv, v, 1e-6, "second");
  }
  const Values before = gw.values();
  control[1] = 1;
  run(AdamW{gw, {}, gm.view(), gm, gv, control.view(), with}, 1);
  EXPECT_EQ(gw.values(), before);  // skipped
}

// In 2 bytes the master goes the way of an f32 weight that is given the same gradients, bit for
// bit, and the weight is the rounded master.
template <class T>
void check_master(std::size_t n) {
  const Values start = random_values(n, 1);
  const Guarded<float> master(start, 1), plain(start), first(n), second(n, 2), plain_first(n),
      plain_second(n);
  const Guarded<T> weight(n, 3);
  for (const View& v : {first.view(), second.view(), plain_first.view(), plain_second.view()})
    run(Clear{v}, 1);
  Guarded<float> control(Values{0.5, 0, 0, 1, 0});
  for (int t = 1; t <= 4; ++t) {
    control[2] = static_cast<float>(t);
    const Guarded<T> grad(random_values<T>(n, static_cast<unsigned>(t + 1)), 1);
    const Guarded<float> wide(grad.values());
    run(AdamW{weight, master, grad.view(), first, second, control.view(), {}}, 2);
    run(AdamW{plain, {}, wide.view(), plain_first, plain_second, control.view(), {}}, 1);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_TRUE(same(master[i], plain[i]) && same(first[i], plain_first[i]) &&
                  same(second[i], plain_second[i]))
          << i;
      ASSERT_EQ(number(weight[i]), number(element<T>(static_cast<double>(master[i])))) << i;
    }
  }
}

TEST_P(Update, AdamWRoundsTheMasterIntoTheWeight) {
  for (const std::size_t n : {1, 15, 16, 37, 3000}) {
    check_master<Bf16>(n);
    check_master<F16>(n);
  }
}

// Weights and moments after one step, which is made in two views: the elements before `begin`, and
// the rest.
std::vector<float> stepped_in_two(std::size_t n, std::size_t begin, std::size_t shift) {
  Guarded<float> w(random_values(n, 1), shift), g(random_values(n, 2), 2 * shift),
      m(random_values(n, 3), shift), v(random_values(n, 4), 3 * shift),
      control(Values{0.7, 0, 2, 1, 0});
  for (float& x : v.span()) x = std::fabs(x);
  for (const Range r : {Range{0, begin}, Range{begin, n - begin}}) {
    if (r.size == 0) continue;
    const auto of = [&](Guarded<float>& x) { return x.view().slice(r); };
    run(AdamW{of(w), {}, of(g), of(m), of(v), control.view(), {}}, 1);
  }
  std::vector<float> all;
  for (Guarded<float>* x : {&w, &m, &v}) {
    all.insert(all.end(), x->span().begin(), x->span().end());
  }
  return all;
}

TEST_P(Update, AdamWGivesAnElementTheSameBitsWhereverItStands) {
  constexpr std::size_t n = 77, more = 5003;  // of which one in a hundred shows another order
  use("baseline");                            // and on every target
  const std::vector<float> want = stepped_in_two(n, 0, 0), wanted = stepped_in_two(more, 0, 0);
  use(GetParam());
  const std::vector<float> got = stepped_in_two(more, 1001, 3);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(same(got[i], wanted[i])) << i;
  for (const std::size_t shift : {0, 1, 7}) {
    for (std::size_t begin = 0; begin < n; ++begin) {
      const std::vector<float> parts = stepped_in_two(n, begin, shift);
      for (std::size_t i = 0; i < want.size(); ++i) {
        ASSERT_TRUE(same(parts[i], want[i])) << "element " << i << ", views meet at " << begin;
      }
    }
  }
}

template <class T>
void check_reduce(std::size_t n, std::size_t ranks, std::size_t shift) {
  std::vector<std::unique_ptr<Guarded<T>>> from;
  SumRanks o;
  o.factor = 1.0 / static_cast<double>(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    from.push_back(
        std::make_unique<Guarded<T>>(random_values(n, static_cast<unsigned>(r + 1)), shift * r));
    o.from[r] = from.back()->view();
  }
  Values want(n);
  const float factor = static_cast<float>(1.0 / static_cast<double>(ranks));
  for (std::size_t i = 0; i < n; ++i) {  // one order, and one rounding
    float s = static_cast<float>(number((*from[0])[i]));
    for (std::size_t r = 1; r < ranks; ++r) s += static_cast<float>(number((*from[r])[i]));
    want[i] = number(element<T>(static_cast<double>(s * factor)));
  }
  const Guarded<T> to(n, shift);
  o.to = to;
  run(o);
  EXPECT_EQ(to.values(), want);
  o.to = *from.back();  // in place
  run(o);
  EXPECT_EQ(from.back()->values(), want);
}

TEST_P(Update, SumRanksAddsInOrder) {
  for (const std::size_t ranks : {1, 2, 3, 8}) {
    for (const std::size_t shift : {0, 1}) {
      for (const std::size_t n : {1, 17, 100, 10007})
        in_every_type([&]<class T>() { check_reduce<T>(n, ranks, shift); });
    }
  }
  if (!on_gpu())
    in_every_type([]<class T>() { check_reduce<T>(600007, 2, 1); });  // past the caches
  Guarded<double> a(Values{1, 2}), b(Values{10, 20}), c(2);
  run(SumRanks{{a.view(), b.view()}, c, 0.5});
  EXPECT_EQ(c.values(), (Values{5.5, 11}));
}

}  // namespace
}  // namespace shardmark
