// Does the stand-in's cuBLASLt compute what NVIDIA documents, and refuse what it does not allow? By
// hand, over column-major matrices; from a stranger's place, not by way of our own calls.
#include <cublasLt.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "kernels/half.hpp"

namespace {

using shardmark::Bf16;

// One product, as a program would set it up.
struct Product {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t does = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulPreference_t with = nullptr;
  cublasLtMatmulHeuristicResult_t found{};
  std::vector<float> workspace = std::vector<float>(1024);
  float alpha = 1, beta = 0;

  explicit Product(cublasComputeType_t compute = CUBLAS_COMPUTE_32F) {
    cublasLtCreate(&handle);
    cublasLtMatmulDescCreate(&does, compute, CUDA_R_32F);
    cublasLtMatmulPreferenceCreate(&with);
    for (const auto operand :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      prefer(operand, 4u);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 0u);
  }
  ~Product() {
    for (const auto layout : {a, b, d}) {
      if (layout) cublasLtMatrixLayoutDestroy(layout);
    }
    cublasLtMatmulPreferenceDestroy(with);
    cublasLtMatmulDescDestroy(does);
    cublasLtDestroy(handle);
  }
  template <class V>
  void prefer(cublasLtMatmulPreferenceAttributes_t what, V value) {
    ASSERT_EQ(cublasLtMatmulPreferenceSetAttribute(with, what, &value, sizeof value), 0);
  }
  template <class V>
  void set(cublasLtMatmulDescAttributes_t what, V value) {
    ASSERT_EQ(cublasLtMatmulDescSetAttribute(does, what, &value, sizeof value), 0);
  }
  // Rows, columns and leading dimension of each, as stored.
  void lay_out(std::array<int, 3> of_a, std::array<int, 3> of_b, std::array<int, 3> of_d,
               cudaDataType type = CUDA_R_32F) {
    const auto create = [&](cublasLtMatrixLayout_t& l, const std::array<int, 3>& of) {
      ASSERT_EQ(cublasLtMatrixLayoutCreate(&l, type, static_cast<std::uint64_t>(of[0]),
                                           static_cast<std::uint64_t>(of[1]), of[2]),
                0);
    };
    create(a, of_a), create(b, of_b), create(d, of_d);
  }
  cublasStatus_t find() {
    int count = 0;
    return cublasLtMatmulAlgoGetHeuristic(handle, does, a, b, d, d, with, 1, &found, &count);
  }
  cublasStatus_t run(const void* x, const void* y, const void* c, void* to) {
    return cublasLtMatmul(handle, does, &alpha, x, a, y, b, &beta, c, d, to, d, &found.algo,
                          workspace.data(), 0, nullptr);
  }
};

// a is (2, 3), b (3, 2), by columns:
//   1 3 5     1 4     22 49
//   2 4 6  x  2 5  =  28 64
//             3 6
TEST(StandinBlas, ReadsByColumns) {
  Product p;
  p.lay_out({2, 3, 2}, {3, 2, 3}, {2, 2, 2});
  ASSERT_EQ(p.find(), CUBLAS_STATUS_SUCCESS);
  const std::vector<float> a{1, 2, 3, 4, 5, 6}, b{1, 2, 3, 4, 5, 6};
  std::vector<float> d(4);
  ASSERT_EQ(p.run(a.data(), b.data(), d.data(), d.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d, (std::vector<float>{22, 28, 49, 64}));
}

// The same a and b, stored transposed and with a row to spare, plus 10 c and a bias for each row.
TEST(StandinBlas, TransposesScalesAndAddsABiasToRows) {
  Product p;
  p.set(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{CUBLAS_OP_T});
  p.set(CUBLASLT_MATMUL_DESC_TRANSB, std::int32_t{CUBLAS_OP_T});
  alignas(16) const float bias[] = {100, 200};
  p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_BIAS});
  p.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias));
  p.lay_out({3, 2, 4}, {2, 3, 3}, {2, 2, 3});
  ASSERT_EQ(p.find(), CUBLAS_STATUS_SUCCESS);
  const std::vector<float> a{1, 3, 5, -1, 2, 4, 6, -1}, b{1, 4, -1, 2, 5, -1, 3, 6, -1},
      c{1, 2, -1, 3, 4, -1};
  std::vector<float> d(6, 7);
  p.alpha = 2, p.beta = 10;
  ASSERT_EQ(p.run(a.data(), b.data(), c.data(), d.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(
      d, (std::vector<float>{44 + 10 + 100, 56 + 20 + 200, 7, 98 + 30 + 100, 128 + 40 + 200, 7}));
}

TEST(StandinBlas, RoundsWhatTheTypesRound) {
  const float near_one = 1 + 0x1p-12f, one = 1;
  for (const auto compute : {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32}) {
    Product p(compute);
    p.lay_out({1, 1, 1}, {1, 1, 1}, {1, 1, 1});
    ASSERT_EQ(p.find(), CUBLAS_STATUS_SUCCESS);
    float d = 0;
    ASSERT_EQ(p.run(&near_one, &one, &d, &d), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(d, compute == CUBLAS_COMPUTE_32F ? near_one : 1);
  }
  Product p;
  p.lay_out({1, 2, 1}, {2, 1, 2}, {1, 1, 1}, CUDA_R_16BF);
  ASSERT_EQ(p.find(), CUBLAS_STATUS_SUCCESS);
  alignas(16) const Bf16 a[] = {{0x3f80}, {0x3f80}}, b[] = {{0x3f80}, {0x3b80}};  // 1, 1; 1, 2^-8
  alignas(16) Bf16 d{};
  ASSERT_EQ(p.run(a, b, &d, &d), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.bits, 0x3f80);  // 1 + 2^-8 lies between two, and the even one is 1
}

TEST(StandinBlas, RefusesWhatDoesNotFit) {
  cublasLtMatrixLayout_t none = nullptr;
  EXPECT_EQ(cublasLtMatrixLayoutCreate(&none, CUDA_R_32F, 4, 1, 3), CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatmulDesc_t product = nullptr;
  EXPECT_EQ(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_16F),
            CUBLAS_STATUS_INVALID_VALUE);
  {
    Product p;
    const std::int8_t too_short = CUBLAS_OP_T;
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(p.does, CUBLASLT_MATMUL_DESC_TRANSA, &too_short, 1),
              CUBLAS_STATUS_INVALID_VALUE);
    p.lay_out({2, 3, 2}, {2, 3, 2}, {2, 3, 2});  // depths of 3 and 2
    EXPECT_EQ(p.find(), CUBLAS_STATUS_INVALID_VALUE);
  }
  Product p;
  p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_BIAS});
  p.lay_out({2, 2, 2}, {2, 2, 2}, {2, 2, 2});
  EXPECT_EQ(p.find(), CUBLAS_STATUS_NOT_SUPPORTED);  // no bias
}

TEST(StandinBlas, HoldsPromisesAgainstWhatComes) {
  alignas(16) const float a[5] = {};
  alignas(16) float d[5] = {};
  Product p;
  p.lay_out({2, 2, 2}, {2, 2, 2}, {2, 2, 2});
  p.prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 16u);
  ASSERT_EQ(p.find(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(p.run(a + 1, a, d, d), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(p.run(a, a + 1, d, d), CUBLAS_STATUS_INVALID_VALUE);

  p.prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{1024});
  ASSERT_EQ(p.find(), CUBLAS_STATUS_SUCCESS);
  EXPECT_GT(p.found.workspaceSize, 0u);
  EXPECT_EQ(p.run(a, a, d, d), CUBLAS_STATUS_INVALID_VALUE);  // it gets none

  Product other;
  other.lay_out({2, 1, 2}, {1, 2, 1}, {2, 2, 2});
  other.found = p.found;  // of another depth
  EXPECT_EQ(other.run(a, a, d, d), CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace
