// Do AdamW, the reduction over ranks and the streaming copy give an element the same bits wherever
// it stands, and the right ones? And does every op say in one sentence what does not fit? Every
// instruction set of this machine.
#include <gtest/gtest.h>

#include <bit>

#include "kernels/cpu/math.hpp"
#include "kernels/ops_reference.hpp"

namespace shardmark {
namespace {

using namespace testing;

class Update : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { cpu::use_instruction_set(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Every, Update, ::testing::ValuesIn(cpu::instruction_sets()),
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
    cpu::run(AdamW{gw, {}, grad.view(), gm, gv, control.view(), with}, 1);
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
  cpu::run(AdamW{gw, {}, gm.view(), gm, gv, control.view(), with}, 1);
  EXPECT_EQ(gw.values(), before);  // skipped
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
    cpu::run(AdamW{of(w), {}, of(g), of(m), of(v), control.view(), {}}, 1);
  }
  std::vector<float> all;
  for (Guarded<float>* x : {&w, &m, &v}) {
    all.insert(all.end(), x->span().begin(), x->span().end());
  }
  return all;
}

TEST_P(Update, AdamWGivesAnElementTheSameBitsWhereverItStands) {
  constexpr std::size_t n = 77;
  cpu::use_instruction_set("baseline");  // and in every instruction set
  const std::vector<float> want = stepped_in_two(n, 0, 0);
  cpu::use_instruction_set(GetParam());
  for (const std::size_t shift : {0, 1, 7}) {
    for (std::size_t begin = 0; begin < n; ++begin) {
      const std::vector<float> got = stepped_in_two(n, begin, shift);
      for (std::size_t i = 0; i < want.size(); ++i) {
        ASSERT_TRUE(same(got[i], want[i])) << "element " << i << ", views meet at " << begin;
      }
    }
  }
}

TEST_P(Update, ReduceRanksAddsInOrder) {
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{17}, std::size_t{100}, std::size_t{300007}}) {
    for (const std::size_t ranks : {1, 2, 3, 8}) {
      for (const std::size_t shift : {0, 1}) {
        std::vector<std::unique_ptr<Guarded<float>>> from;
        std::vector<ConstView> sources;
        for (std::size_t r = 0; r < ranks; ++r) {
          from.push_back(std::make_unique<Guarded<float>>(
              random_values(n, static_cast<unsigned>(r + 1)), shift * r));
          sources.push_back(from.back()->view());
        }
        std::vector<float> want(n);
        const float factor = static_cast<float>(1.0 / static_cast<double>(ranks));
        for (std::size_t i = 0; i < n; ++i) {
          float s = (*from[0])[i];
          for (std::size_t r = 1; r < ranks; ++r) s += (*from[r])[i];
          want[i] = s * factor;
        }
        Guarded<float> to(n, shift);
        cpu::reduce_ranks(sources, to, 1.0 / static_cast<double>(ranks));
        for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(same(to[i], want[i])) << i;
        cpu::reduce_ranks(sources, *from.back(), 1.0 / static_cast<double>(ranks));  // in place
        for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(same((*from.back())[i], want[i])) << i;
      }
    }
  }
  Guarded<double> a(Values{1, 2}), b(Values{10, 20}), c(2);
  cpu::reduce_ranks(std::vector<ConstView>{a.view(), b.view()}, c, 0.5);
  EXPECT_EQ(c.values(), (Values{5.5, 11}));
}

TEST_P(Update, StreamCopyCopies) {
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{100}, std::size_t{262144}, std::size_t{300007}}) {
    for (const std::size_t shift : {0, 1, 3}) {
      const Values x = random_values(n, 1);
      Guarded<float> from(x, 2 * shift), to(n, shift);
      cpu::stream_copy(from.view(), to);
      ASSERT_EQ(to.values(), x);
      Guarded<float> cast(n, shift);
      cpu::run(Cast{from.view(), cast}, 3);
      ASSERT_EQ(cast.values(), x);
    }
  }
}

// Runs the op and expects a sentence that says this.
void expect_sentence(const Op& op, const std::string& part) {
  try {
    cpu::run(op, 1);
    FAIL() << "no error, but one was expected that says: " << part;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(Sentences, NameTheOpTheOperandAndWhatItShouldBe) {
  Guarded<float> four(4), six(6), eight(8);
  Guarded<double> d(1);
  Guarded<std::int32_t> tokens(Values{0, 9});
  const View nowhere(0, 4, DType::f32, Space::nowhere), none;
  expect_sentence(Clear{none}, "clear: to is empty");
  expect_sentence(Cast{four.view(), six}, "cast: from has 4 elements and to has 6");
  expect_sentence(Cast{four.view(), View(four.view().address(), 4, DType::i32, Space::host)},
                  "no conversion of f32 to i32");
  expect_sentence(Add{four.view(), none}, "add: from has 4 elements and to has 0");
  expect_sentence(SumSquares{four.view(), six},
                  "total has 6 elements of f32, but it must have 1 elements of f64");
  expect_sentence(SumSquares{nowhere, d}, "x is not in host memory");
  expect_sentence(Fill{d, {}, 0, 0, 0},
                  "to has elements of f64, but they must be f32, bf16 or f16");
  expect_sentence(AdamW{none, {}, four.view(), four, four, four.view(), {}},
                  "weight is asked for with 0 elements");
  expect_sentence(AdamW{four, {}, six.view(), four, four, four.view(), {}},
                  "grad has 6 elements of f32");
  const Guarded<float> five(Values{1, 0, 1, 1, 0});
  expect_sentence(ClipControl{d, six, {}, 0, 1, {}}, "control has 6 elements");
  expect_sentence(ClipControl{d, five, d, 0, 1, {}}, "entry 0 lies behind the end of history");
  expect_sentence(ColumnSum{six.view(), four},
                  "x has 6 elements, but it must have whole rows of 4");
  expect_sentence(LayerNorm{eight.view(), six.view(), four.view(), eight, four, 4},
                  "layer_norm: gain has 6 elements");
  expect_sentence(LayerNorm{eight.view(), none, four.view(), eight, four, 4},
                  "gain is empty, but it must have 4");
  expect_sentence(Gelu{four.view(), six}, "gelu: out has 6 elements");
  expect_sentence(Attention{six.view(), four, four, 1, 1, 0, 0, 4}, "attention: heads is 0");
  expect_sentence(Embed{tokens.view(), four.view(), four.view(), eight, 4, 1},
                  "tokens[1] is 9, but it must be 0 to 0");
  expect_sentence(CrossEntropy{eight.view(), tokens.view(), six, d, 4, 0, 1},
                  "targets[1] is 9, but it must be 0 to 3");
  expect_sentence(Transfer{}, "only a communicator can run it");
  Matmul product;
  product.a = four.view(), product.b = four.view(), product.c = six;
  product.m = product.n = product.k = 2;
  expect_sentence(product, "matmul: c has 6 elements of f32, but it must have 4");
  EXPECT_THROW(cpu::use_instruction_set("mmx"), InputError);
}

}  // namespace
}  // namespace shardmark
