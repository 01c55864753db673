// Does a matrix product compute what its formula says, by the target's library and by our own
// tiles? In every element type, against plain loops in double; sizes that fill no vector and no
// tile, and operands that start anywhere.
#include <gtest/gtest.h>

#include "kernels/cpu/table.hpp"
#include "kernels/ops_reference.hpp"

namespace shardmark {
namespace {

using namespace testing;
namespace ref = testing::reference;

class Products : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Every, Products, ::testing::ValuesIn(targets()),
                         [](const auto& i) { return i.param; });

struct Shape {
  std::size_t m, n, k;
};
enum How { ta = 1, tb = 2, adds = 4, bias = 8, residual = 16, every = 32 };

// shift: elements that operands stand off a line of memory.
template <class T>
void check_product(const Shape& s, int how, int threads, Values (*values)(std::size_t, unsigned),
                   std::size_t shift = 0) {
  SCOPED_TRACE(::testing::Message()
               << s.m << " " << s.n << " " << s.k << " how " << how << " shift " << shift);
  const Values a = values(s.m * s.k, 1), b = values(s.k * s.n, 2), c = values(s.m * s.n, 3),
               v = values(s.n, 4), r = values(s.m * s.n, 5);
  Values want = ref::matmul(a, b, s.m, s.n, s.k, how & ta, how & tb);
  for (std::size_t i = 0; i < want.size(); ++i)
    want[i] +=
        (how & adds ? c[i] : 0) + (how & bias ? v[i % s.n] : 0) + (how & residual ? r[i] : 0);
  const Guarded<T> ga(a, shift), gb(b, shift), gc(c, shift), gv(v, shift), gr(r, shift);
  Matmul o;
  o.a = ga.view(), o.b = gb.view(), o.c = gc;
  o.m = s.m, o.n = s.n, o.k = s.k;
  o.ta = how & ta, o.tb = how & tb, o.adds = how & adds;
  if (how & bias) o.bias = gv.view();
  if (how & residual) o.residual = gr.view();
  run_with_scratch(o, threads);
  // Tensor cores cut off what does not fit beside the largest of some products (Fasi et al. 2021):
  // of 3000 that grow it is some 4e-5.
  const bool cuts_off = on_gpu() && sizeof(T) == 2 && s.k > 1000;
  expect_near(gc, want, cuts_off ? 5e-5 : 1e-5, "c");
  if (on_gpu()) return;
  // The product of builds without oneDNN, and of types that it does not compute.
  Guarded<T> own(c);
  cpu::table().of<T>().product({&ga[0], &gb[0], how & bias ? &gv[0] : nullptr,
                                how & residual ? &gr[0] : nullptr, &own[0], s.m, s.n, s.k, o.ta,
                                o.tb, o.adds, 0, s.m});
  expect_near(own, want, 1e-5, "own c");
}

TEST_P(Products, FollowTheFormula) {
  in_every_type([]<class T>() {
    const auto values = [](std::size_t n, unsigned seed) { return random_values<T>(n, seed); };
    for (const Shape& s : {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{33, 17, 65}, Shape{64, 64, 64},
                           Shape{70, 130, 100}, Shape{1, 200, 3}}) {
      for (int how = 0; how < every; ++how) check_product<T>(s, how, 1, values);
    }
    for (int how = 0; how < every; ++how) check_product<T>({33, 17, 65}, how, 1, values, 1);
    check_product<T>({65, 33, 129}, every - 1, 2, values);
    check_product<T>({65, 33, 129}, 0, 1, values);  // and back to one thread
  });
}

// A sum over the depth that was kept in 2 bytes would stand still, and each rounding on the way
// would show.
TEST_P(Products, RoundOnceHoweverDeep) {
  in_every_type([]<class T>() {
    const auto values = [](std::size_t n, unsigned seed) { return growing_values<T>(n, seed); };
    for (const int how : {0, +ta, +tb, ta | adds, adds | bias | residual})
      check_product<T>({33, 65, 3000}, how, 2, values);
  });
}

TEST(ProductPaths, SayWhoComputesThem) {
  EXPECT_EQ(cpu::product_path(DType::f16).substr(0, 9), "own tiles");
  const bool library = cpu::matrix_library() != "plain";
  EXPECT_EQ(cpu::product_path(DType::f32) == cpu::matrix_library(), library);
  Matmul o;
  o.m = o.n = o.k = 64;
  o.ta = true;
  const Guarded<F16> any(64 * 64);
  o.a = any.view(), o.b = any.view(), o.c = any;
  EXPECT_EQ(cpu::scratch_bytes(o, 1), 0u);
}

}  // namespace
}  // namespace shardmark
