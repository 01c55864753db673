// Does the stand-in's grid run kernels as a GPU may, and does it show what they forget?
#include "kernels/cuda/standin/grid.hpp"

#include <gtest/gtest.h>
#include <mma.h>

#include <cub/block/block_reduce.cuh>
#include <vector>

#include "kernels/cuda/launch.hpp"

namespace shardmark {
namespace {

using cuda::SharedArray;
using standin::run_grid;

std::string sentence_of(const standin::Configuration& c, const std::function<void()>& body) {
  try {
    run_grid(c, body);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Grid, RunsEveryThreadOnce) {
  std::vector<int> runs(2 * 3 * 2 * 4 * 2 * 3);
  const auto count = [&] {
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    ++runs[block * blockDim.x * blockDim.y * blockDim.z + thread];
  };
  run_grid({{2, 3, 2}, {4, 2, 3}}, count);
  EXPECT_EQ(runs, std::vector<int>(runs.size(), 1));
}

// Each thread writes its number, and reads that of another.
template <bool waits>
void neighbours(float* out, unsigned apart) {
  __shared__ SharedArray<float, 64> numbers;
  numbers[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (waits) __syncthreads();
  out[threadIdx.x] = numbers[(threadIdx.x + apart) % blockDim.x];
}

TEST(Grid, AForgottenBarrierShows) {
  for (const unsigned apart : {1u, 2u, 32u, 63u}) {
    std::vector<float> with(64), without(64), want(64);
    for (unsigned i = 0; i < 64; ++i) want[i] = static_cast<float>((i + apart) % 64);
    run_grid({1, 64}, [&] { neighbours<true>(with.data(), apart); });
    run_grid({1, 64}, [&] { neighbours<false>(without.data(), apart); });
    EXPECT_EQ(with, want);
    EXPECT_NE(without, want) << apart;
  }
}

// What one round reads, the next overwrites.
template <bool waits>
void rounds(float* out) {
  __shared__ SharedArray<float, 64> numbers;
  float sum = 0;
  for (int round = 0; round < 4; ++round) {
    numbers[threadIdx.x] = static_cast<float>(round);
    __syncthreads();
    sum += numbers[threadIdx.x ^ 1];
    if (waits) __syncthreads();
  }
  out[threadIdx.x] = sum;
}
TEST(Grid, ABarrierForgottenBehindTheReadsShows) {
  std::vector<float> with(64), without(64);
  run_grid({1, 64}, [&] { rounds<true>(with.data()); });
  run_grid({1, 64}, [&] { rounds<false>(without.data()); });
  EXPECT_EQ(with, std::vector<float>(64, 6));
  EXPECT_NE(without, std::vector<float>(64, 6));
}

// A sum over warps, twice: a warp that is quick overwrites what a slow one has not read.
template <bool waits>
void sums(float* out) {
  __shared__ SharedArray<float, 2> of_warp;
  float sum = 1;
  for (int turn = 0; turn < 2; ++turn) {
    for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = of_warp[0] + of_warp[1];
    if (waits) __syncthreads();
  }
  out[threadIdx.x] = sum;
}
TEST(Grid, WarpsAreFarApart) {
  std::vector<float> with(64), without(64);
  run_grid({1, 64}, [&] { sums<true>(with.data()); });
  run_grid({1, 64}, [&] { sums<false>(without.data()); });
  EXPECT_EQ(with, std::vector<float>(64, 64 * 64));
  EXPECT_NE(without, std::vector<float>(64, 64 * 64));
}

TEST(Grid, SharedMemoryStartsAsNaNInEachBlock) {
  int numbers = 0;
  run_grid({3, 32, 32 * sizeof(float)}, [&] {
    __shared__ SharedArray<float, 32> named;
    float* dynamic = cuda::dynamic_shared<float>();
    numbers += !std::isnan(named[threadIdx.x]) + !std::isnan(dynamic[threadIdx.x]);
    named[threadIdx.x] = dynamic[threadIdx.x] = 1;
  });
  EXPECT_EQ(numbers, 0);
}

#if defined(__SANITIZE_ADDRESS__)
TEST(GridDeathTest, DynamicSharedMemoryIsAsLargeAsAskedFor) {
  const auto write = [](unsigned size) {
    run_grid({1, 32, 32 * sizeof(float)}, [&] {
      if (threadIdx.x == 7) cuda::dynamic_shared<float>()[size] = 1;
    });
  };
  write(31);
  EXPECT_DEATH(write(32), "heap-buffer-overflow");
}
#endif

TEST(Grid, SaysWhoIsMissed) {
  EXPECT_NE(sentence_of({1, 64},
                        [] {
                          if (threadIdx.x != 3) __syncthreads();
                        })
                .find("63 wait at a barrier"),
            std::string::npos);
  EXPECT_NE(sentence_of({1, 32},
                        [] {
                          if (threadIdx.x != 3) __shfl_xor_sync(~0u, 1, 1);
                        })
                .find("__shfl_xor_sync: lane 3 of its mask has ended"),
            std::string::npos);
  EXPECT_NE(sentence_of({1, 32},
                        [] {
                          if (threadIdx.x == 3) __syncthreads();
                          __syncwarp();
                          if (threadIdx.x != 3) __syncthreads();
                        })
                .find("every thread must come to it"),
            std::string::npos);
  EXPECT_NE(sentence_of({1, 31}, [] { __syncwarp(); }).find("lane 31"), std::string::npos);
  EXPECT_NE(sentence_of({1, 32},
                        [] {
                          if (threadIdx.x == 3)
                            __syncwarp();
                          else
                            __ballot_sync(~0u, true);
                        })
                .find("all lanes must do the same"),
            std::string::npos);
  EXPECT_NE(sentence_of({1, 1025}, [] {}).find("which no GPU takes"), std::string::npos);
  EXPECT_EQ(sentence_of({1, 32}, [] { throw Error("mine"); }), "mine");
  EXPECT_EQ(sentence_of({1, 64}, [] { __syncthreads(); }), "");  // and it still works
}

TEST(Grid, LanesExchangeWhatTheyHave) {
  std::vector<int> got(64);
  const auto run = [&](auto&& f) {
    run_grid({1, 64}, [&] { got[threadIdx.x] = f(static_cast<int>(threadIdx.x)); });
    return got;
  };
  const auto expected = [](auto&& f) {
    std::vector<int> want;
    for (int i = 0; i < 64; ++i) want.push_back(f(i));
    return want;
  };
  EXPECT_EQ(run([](int i) { return __shfl_xor_sync(~0u, i, 5); }),
            expected([](int i) { return i ^ 5; }));
  EXPECT_EQ(run([](int i) { return __shfl_down_sync(~0u, i, 20); }),
            expected([](int i) { return i % 32 < 12 ? i + 20 : i; }));
  EXPECT_EQ(run([](int i) { return __shfl_up_sync(~0u, i, 3, 8); }),
            expected([](int i) { return i % 8 < 3 ? i : i - 3; }));
  EXPECT_EQ(run([](int i) { return __shfl_sync(~0u, i, 2, 16); }),
            expected([](int i) { return i / 16 * 16 + 2; }));
  EXPECT_EQ(run([](int i) { return static_cast<int>(__ballot_sync(~0u, i % 32 < 4)); }),
            expected([](int) { return 15; }));
  // Half a warp alone, and a sum over a warp, in any order of the lanes.
  EXPECT_EQ(run([](int i) { return i % 32 < 16 ? __shfl_xor_sync(0xffffu, i, 1) : -1; }),
            expected([](int i) { return i % 32 < 16 ? i ^ 1 : -1; }));
  EXPECT_EQ(run([](int i) {
              for (int apart = 16; apart > 0; apart /= 2) i += __shfl_xor_sync(~0u, i, apart);
              return i;
            }),
            expected([](int i) { return i < 32 ? 31 * 16 : 31 * 16 + 32 * 32; }));
}

TEST(Grid, CubAddsOverTheBlock) {
  double got = 0;
  run_grid({1, 96}, [&] {
    using Reduce = cub::BlockReduce<double, 96>;
    __shared__ Reduce::TempStorage storage;
    const double sum = Reduce(storage).Sum(threadIdx.x);
    if (threadIdx.x == 0) got = sum;
  });
  EXPECT_EQ(got, 95 * 48);
}

// a(i, k) = i + 2 k and b(k, j) = k - j in small whole numbers, which are exact.
TEST(Grid, AWarpMultipliesTiles) {
  alignas(32) __nv_bfloat16 a[256], b[256];
  alignas(32) float c[256], want[256];
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      a[i * 16 + j] = __float2bfloat16_rn(static_cast<float>(i + 2 * j));
      b[j * 16 + i] = __float2bfloat16_rn(static_cast<float>(i - j));  // stored by columns
      want[i * 16 + j] = 3;
      for (int k = 0; k < 16; ++k) want[i * 16 + j] += static_cast<float>((i + 2 * k) * (k - j));
    }
  }
  run_grid({1, 32}, [&] {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __nv_bfloat16, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> fc;
    load_matrix_sync(fa, a, 16);
    load_matrix_sync(fb, b, 16);
    fill_fragment(fc, 1.0f);
    for (int i = 0; i < fc.num_elements; ++i) fc.x[i] *= 3;
    mma_sync(fc, fa, fb, fc);
    store_matrix_sync(c, fc, 16, mem_row_major);
  });
  for (int i = 0; i < 256; ++i) EXPECT_EQ(c[i], want[i]) << i;
  EXPECT_NE(sentence_of({1, 32},
                        [&] {
                          nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> f;
                          load_matrix_sync(f, c + 1, 16, nvcuda::wmma::mem_row_major);
                        })
                .find("32 bytes"),
            std::string::npos);
}

}  // namespace
}  // namespace shardmark
