// Are an eager framework's passes over memory the ones that its kernels make, and do a cluster's
// two rates and its bytes add up to an op's time?
#include "impl/eager.hpp"

#include <gtest/gtest.h>

#include "impl/cluster.hpp"

namespace shardmark {
namespace {

View array(std::size_t size, DType type = DType::bf16) {
  return {4096, size, type, Space::nowhere};
}

constexpr std::size_t rows = 6, width = 10, classes = 100;

// A bf16 logit: cast 2 + 4 bytes, log_softmax 4 + 4 in place of the 2 that one pass reads.
TEST(Eager, ALossIsComputedInFp32) {
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

TEST(Eager, SumsAndBiasesAreKernelsOfTheirOwn) {
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

Cluster simple() {
  Cluster c;
  c.peak_flops_per_ns[DType::bf16] = c.achieved_flops_per_ns[DType::bf16] = 100;
  c.memory_bytes_per_ns = 10;
  return c;
}

// 4 x 5 x 6: 240 FLOPs; it reads 20 + 30 elements and writes 24.
TEST(Cluster, ProductsAndBytesOfAnOpAddUp) {
  Matmul product;
  product.m = 4, product.n = 6, product.k = 5;
  product.a = array(20), product.b = array(30), product.c = array(24);
  const Cost cost = cost_of(simple(), product, 1);
  EXPECT_DOUBLE_EQ(cost.matrix_ns, 2.4);
  EXPECT_DOUBLE_EQ(cost.memory_ns, 14.8);
  Cluster eager = simple();
  eager.eager = true;
  product.residual = array(24);
  EXPECT_DOUBLE_EQ(cost_of(eager, product, 1).memory_ns, 14.8 + 4.8 + 9.6);
}

// Two products of 2 x 8 x 8 x 3 FLOPs a sequence, half of them masked.
TEST(Cluster, AttentionHasARateOfItsOwn) {
  Attention attention;
  attention.batch = 2, attention.sequence = 8, attention.heads = 1, attention.head_dim = 3;
  attention.qkv = array(16 * 9), attention.out = array(16 * 3);
  Cluster c = simple();
  EXPECT_DOUBLE_EQ(cost_of(c, attention, 1).matrix_ns, 7.68);
  c.attention_flops_per_ns[DType::bf16] = 50;
  EXPECT_DOUBLE_EQ(cost_of(c, attention, 1).matrix_ns, 15.36);
}

}  // namespace
}  // namespace shardmark
