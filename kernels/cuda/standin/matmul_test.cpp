// What does a product on a GPU ask of cuBLASLt, beside the right numbers? Precision as it was said,
// scratch by shape alone, the same bits each time, and our own tiles where cuBLASLt has nothing.
#include "kernels/cuda/matmul.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/cuda/ops.hpp"

namespace shardmark::cuda {
namespace {

ConstView view(const std::vector<float>& x, std::size_t offset = 0) {
  return {reinterpret_cast<std::uintptr_t>(x.data() + offset), x.size() - offset, DType::f32,
          Space::device};
}
View view(std::vector<float>& x) {
  return {reinterpret_cast<std::uintptr_t>(x.data()), x.size(), DType::f32, Space::device};
}
Matmul of_shape(std::size_t m, std::size_t n, std::size_t k) {
  Matmul o;
  o.m = m, o.n = n, o.k = k;
  return o;
}

// c = a b on the default stream, which is done at once.
std::vector<float> product(const Matmul& shape, ConstView a, ConstView b, Blas& blas, bool tf32) {
  Matmul o = shape;
  std::vector<float> c(o.m * o.n);
  o.a = a, o.b = b, o.c = view(c);
  std::vector<std::uint8_t> scratch(blas.scratch_bytes(o));
  o.scratch = {reinterpret_cast<std::uintptr_t>(scratch.data()), scratch.size(), DType::u8,
               Space::device};
  run_op(o, {.stream = nullptr, .blas = &blas, .tf32 = tf32});
  return c;
}

TEST(MatmulOnAGpu, RoundsOperandsToTf32OnlyWhereThatIsSaid) {
  Blas blas;
  const std::vector<float> a{1 + 0x1p-12f}, b{1};
  EXPECT_EQ(product(of_shape(1, 1, 1), view(a), view(b), blas, false)[0], a[0]);
  EXPECT_EQ(product(of_shape(1, 1, 1), view(a), view(b), blas, true)[0], 1);
  EXPECT_EQ(product(of_shape(1, 1, 1), view(a), view(b), blas, false)[0], a[0]);
}

TEST(MatmulOnAGpu, AsksForScratchByShapeAlone) {
  const Blas blas;
  const std::size_t least = blas.scratch_bytes(of_shape(1, 1, 1)),
                    most = blas.scratch_bytes(of_shape(10000, 10000, 64));
  EXPECT_EQ(least, 32 * 4 + 256u);  // 32 sums of f32, and room to start on a line
  EXPECT_TRUE(most == (4u << 20) + 256 || most == (32u << 20) + 256) << most;
  Matmul o = of_shape(64, 64, 64);
  const std::size_t bytes = blas.scratch_bytes(o);
  o.a = ConstView(2, 64 * 64, DType::f32, Space::device);
  EXPECT_EQ(blas.scratch_bytes(o), bytes);
}

TEST(MatmulOnAGpu, GivesTheSameBitsWhereverOperandsStand) {
  Blas blas;
  std::vector<float> a(33 * 65 + 1), b(65 * 17);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1.0f / static_cast<float>(i % 61 + 3);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1.0f / static_cast<float>(i % 53 + 2);
  std::vector<float> shifted(a.size());
  std::copy(a.begin(), a.end() - 1, shifted.begin() + 1);
  a.pop_back();
  const Matmul shape = of_shape(33, 17, 65);
  const auto c = product(shape, view(a), view(b), blas, false);
  EXPECT_EQ(product(shape, view(a), view(b), blas, false), c);
  EXPECT_EQ(product(shape, view(shifted, 1), view(b), blas, false), c);
}

// The stand-in adds no bias that stands askew, as a library may refuse what it pleases.
TEST(MatmulOnAGpu, CountsWhatCublasltDeclines) {
  Blas blas;
  const std::vector<float> a{2}, b{3};
  alignas(16) const float biases[2] = {10, 20};
  Matmul o = of_shape(1, 1, 1);
  for (const std::uint64_t askew : {0u, 1u, 1u}) {
    const std::uint64_t before = blas.declined();
    o.bias = {reinterpret_cast<std::uintptr_t>(biases + askew), 1, DType::f32, Space::device};
    EXPECT_EQ(product(o, view(a), view(b), blas, false)[0], 6 + biases[askew]);
    EXPECT_EQ(blas.declined() - before, askew);
  }
}

TEST(MatmulOnAGpu, SaysWhatDoesNotFit) {
  Blas blas;
  const std::vector<float> a(6), b(6);
  const auto sentence = [&](const Matmul& shape) {
    try {
      product(shape, view(a), view(b), blas, false);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(sentence(of_shape(2, 2, 0)), "matmul: k is 0, but it must be at least 1");
  EXPECT_EQ(sentence(of_shape(2, 2, 2)),
            "matmul: a has 6 elements of f32, but it must have 4 elements of f32");
}

}  // namespace
}  // namespace shardmark::cuda
