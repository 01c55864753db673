// How is a row normalised? A block has a row: it comes from memory once, and is read again from the
// first-level cache for its deviations and its result.
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/sums.cuh"
#include "kernels/operands.hpp"

namespace shardmark::cuda {
namespace {

template <class T>
struct Norm {
  const T *x, *gain, *bias;  // RMSNorm has no bias, and of statistics no mean
  T* out;
  float* stats;
  std::size_t width;
  float epsilon;
};

// The sum over a row of f(pack, its first element), for every thread.
template <int n, class F>
__device__ float row_sum(std::size_t width, float* of_warp, F&& f) {
  float sum = 0;
  for (std::size_t i = threadIdx.x * n; i < width; i += blockDim.x * n) sum += f(i);
  return block_sum(sum, of_warp);
}

template <class T, int n, bool with_mean>
__global__ void __launch_bounds__(256) norm(Norm<T> a) {
  __shared__ SharedArray<float, most_warps> of_warp;
  const std::size_t row = blockIdx.x, w = a.width;
  const T* x = a.x + row * w;
  float mean = 0;
  if constexpr (with_mean) {
    mean = row_sum<n>(w, of_warp.at,
                      [&](std::size_t i) {
                        const Floats<n> v = load<n>(x + i);
                        float s = 0;
                        for (int j = 0; j < n; ++j) s += v.at[j];
                        return s;
                      }) /
           static_cast<float>(w);
  }
  const float squares = row_sum<n>(w, of_warp.at, [&](std::size_t i) {
    const Floats<n> v = load<n>(x + i);
    float s = 0;
    for (int j = 0; j < n; ++j) s += (v.at[j] - mean) * (v.at[j] - mean);
    return s;
  });
  const float rstd = 1.0f / sqrtf(squares / static_cast<float>(w) + a.epsilon);
  if (threadIdx.x == 0) {
    float* stats = a.stats + row * (with_mean ? 2 : 1);
    if (with_mean) stats[0] = mean;
    stats[with_mean ? 1 : 0] = rstd;
  }
  for (std::size_t i = threadIdx.x * n; i < w; i += blockDim.x * n) {
    const Floats<n> v = load<n>(x + i), gain = load<n>(a.gain + i);
    Floats<n> bias{};
    if constexpr (with_mean) bias = load<n>(a.bias + i);
    store<n>(a.out + row * w + i,
             each_of<n>([&](int j) { return (v.at[j] - mean) * rstd * gain.at[j] + bias.at[j]; }));
  }
}

template <bool with_mean, class T>
void forward(const Norm<T>& a, std::size_t rows, const Launch& with) {
  constexpr int n = width_of<T>;
  const bool packs = rows_fit<n>(a.x, a.width) && fits<n>(a.gain) && fits<n>(a.out) &&
                     (!with_mean || fits<n>(a.bias));
  launch(packs ? norm<T, n, with_mean> : norm<T, 1, with_mean>, static_cast<unsigned>(rows),
         threads_for(packs ? a.width / n : a.width), 0, with.stream, a);
}

}  // namespace

void run_op(const LayerNorm& o, const Launch& with) {
  const Operands is("layer_norm", Space::device);
  const std::size_t w = o.width, rows = is.rows("x", o.x, w);
  with_type(is, "x", o.x, [&]<class T>() {
    forward<true>(Norm<T>{.x = is.in<T>("x", o.x, rows * w),
                          .gain = is.in<T>("gain", o.gain, w),
                          .bias = is.in<T>("bias", o.bias, w),
                          .out = is.out<T>("out", o.out, rows * w),
                          .stats = is.out<float>("stats", o.stats, 2 * rows),
                          .width = w,
                          .epsilon = o.epsilon},
                  rows, with);
  });
}

void run_op(const RmsNorm& o, const Launch& with) {
  const Operands is("rms_norm", Space::device);
  const std::size_t w = o.width, rows = is.rows("x", o.x, w);
  with_type(is, "x", o.x, [&]<class T>() {
    forward<false>(Norm<T>{.x = is.in<T>("x", o.x, rows * w),
                           .gain = is.in<T>("gain", o.gain, w),
                           .bias = nullptr,
                           .out = is.out<T>("out", o.out, rows * w),
                           .stats = is.out<float>("stats", o.stats, rows),
                           .width = w,
                           .epsilon = o.epsilon},
                   rows, with);
  });
}

}  // namespace shardmark::cuda
