// Are an eager framework's passes over memory the ones that its kernels make?
#include "impl/eager.hpp"

#include <gtest/gtest.h>

namespace shardmark {
namespace {

View array(std::size_t size, DType type = DType::bf16) {
  return {4096, size, type, Space::nowhere};
}

constexpr std::size_t rows = 6, width = 10, classes = 100;

// A bf16 logit: cast 2 + 4 bytes, log_softmax 4 + 4 in place of the 2 that one pass reads.
TEST(Eager, a_loss_is_computed_in_fp32) {
  CrossEntropy forward;
  forward.logits = array(rows * classes);
  EXPECT_EQ(eager_bytes(forward), rows * classes * (6 + 8 - 2));
  // A gradient of 4 is filled, log_softmax reads 4 + 4 and writes 4, the cast 4 + 2: in place of 2
  // + 2.
  CrossEntropyBackward backward;
  backward.logits = array(rows * classes);
  EXPECT_EQ(eager_bytes(backward), rows * classes * (4 + 12 + 6 - 4));
  forward.logits = array(rows * classes, DType::f32);
  EXPECT_EQ(eager_bytes(forward), rows * classes * (8 - 4));
}

TEST(Eager, sums_and_biases_are_kernels_of_their_own) {
  Matmul product;
  product.c = array(rows * width);
  EXPECT_EQ(eager_bytes(product), 0);
  product.residual = array(rows * width);  // write, read, read, write: ours reads it and writes
  EXPECT_EQ(eager_bytes(product), rows * width * 2 * (4 - 2));
  GeluBackward gelu;
  gelu.grad = array(rows * width);
  EXPECT_EQ(eager_bytes(gelu), 0);
  gelu.bias_grad = array(width);
  EXPECT_EQ(eager_bytes(gelu), rows * width * 2);
  LayerNormBackward norm;
  norm.grad = norm.x = array(rows * width), norm.dx = array(rows * width);
  EXPECT_EQ(eager_bytes(norm), rows * width * 2 * (2 + 2));
}

}  // namespace
}  // namespace shardmark
