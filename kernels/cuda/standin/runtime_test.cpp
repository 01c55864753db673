// Does the stand-in hold streams, events and handles to their GPU, and host functions to their
// turn, as NVIDIA documents it (CUDA C++ Programming Guide, "Stream and Event Behavior", and
// cudaLaunchHostFunc)?
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "runtime.hpp"

namespace {

// What belongs to one GPU.
struct Owned {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  explicit Owned(int gpu) {
    cudaSetDevice(gpu);
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, 0);
  }
  ~Owned() {
    cudaStreamDestroy(stream);
    cudaEventDestroy(event);
  }
};

class StandinRuntime : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ::setenv("SHARDMARK_STANDIN", "gpus=2,late_us=20", 1); }
  Owned a{0}, b{1};
};

TEST_F(StandinRuntime, AnEventIsRecordedOnAStreamOfItsGpuAlone) {
  EXPECT_EQ(cudaEventRecord(a.event, b.stream), cudaErrorInvalidResourceHandle);
  // Whichever GPU is current.
  cudaSetDevice(1);
  EXPECT_EQ(cudaEventRecord(a.event, a.stream), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(b.event, b.stream), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(a.stream, b.event, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(a.stream), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(b.event), cudaSuccess);
  float ms = 0;
  EXPECT_EQ(cudaEventElapsedTime(&ms, a.event, b.event), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventElapsedTime(&ms, a.event, a.event), cudaSuccess);
}

TEST_F(StandinRuntime, AKernelIsLaunchedOnAStreamOfTheCurrentGpuAlone) {
  cudaSetDevice(0);
  EXPECT_EQ(shardmark::standin::may_launch(a.stream), cudaSuccess);
  EXPECT_EQ(shardmark::standin::may_launch(b.stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(shardmark::standin::may_launch(nullptr), cudaSuccess);
  char byte = 0;  // a copy may go anywhere
  EXPECT_EQ(cudaMemsetAsync(&byte, 7, 1, b.stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(b.stream), cudaSuccess);
  EXPECT_EQ(byte, 7);
}

TEST_F(StandinRuntime, AHandleOfCublasLtIsUsedOnStreamsOfItsGpuAlone) {
  cudaSetDevice(0);
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t one = nullptr;
  cublasLtMatmulPreference_t any = nullptr;
  cublasLtCreate(&handle);
  cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatrixLayoutCreate(&one, CUDA_R_32F, 1, 1, 1);
  cublasLtMatmulPreferenceCreate(&any);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  ASSERT_EQ(
      cublasLtMatmulAlgoGetHeuristic(handle, product, one, one, one, one, any, 1, &found, &count),
      CUBLAS_STATUS_SUCCESS);
  alignas(256) float x = 3, alpha = 1, beta = 0;
  alignas(256) float y = 0;
  const auto multiply = [&](cudaStream_t s) {
    return cublasLtMatmul(handle, product, &alpha, &x, one, &x, one, &beta, &y, one, &y, one,
                          &found.algo, nullptr, 0, s);
  };
  EXPECT_EQ(multiply(b.stream), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(multiply(a.stream), CUBLAS_STATUS_SUCCESS);
  cudaStreamSynchronize(a.stream);
  EXPECT_EQ(y, 9);
  cublasLtMatmulPreferenceDestroy(any);
  cublasLtMatrixLayoutDestroy(one);
  cublasLtMatmulDescDestroy(product);
  cublasLtDestroy(handle);
}

// A function that does not return keeps those of all streams of its GPU waiting, and no others.
TEST_F(StandinRuntime, HostFunctionsOfOneGpuTakeTurns) {
  struct Gate {
    std::atomic<bool> entered{false}, open{false};
  } gate;
  Owned same(0);
  cudaLaunchHostFunc(
      a.stream,
      [](void* g) {
        auto& at = *static_cast<Gate*>(g);
        at.entered = true;
        while (!at.open) std::this_thread::yield();
      },
      &gate);
  while (!gate.entered) std::this_thread::yield();
  std::atomic<bool> ran_here{false}, ran_there{false};
  const auto set = [](void* to) { *static_cast<std::atomic<bool>*>(to) = true; };
  cudaLaunchHostFunc(same.stream, set, &ran_here);
  cudaLaunchHostFunc(b.stream, set, &ran_there);
  cudaStreamSynchronize(b.stream);
  EXPECT_TRUE(ran_there);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(ran_here);
  gate.open = true;
  cudaStreamSynchronize(same.stream);
  EXPECT_TRUE(ran_here);
}

}  // namespace
