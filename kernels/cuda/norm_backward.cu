// What flows back through the normalisation of rows? A block has some rows, one after the other, and
// sums dgain and dbias over them in f32; a second pass adds up what the blocks have, in their order.
#include "kernels/cuda/columns.cuh"
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/sums.cuh"
#include "kernels/operands.hpp"

namespace shardmark::cuda {
namespace {

template <class T>
struct Backward {
  const T *grad, *x, *gain;
  const float* stats;
  T* dx;
  float* sums;  // of each block: of dgain, then of dbias; null: of neither
  std::size_t rows, width;
};

// With the mean: of g = grad * gain and of g times the normalised row; without: of the latter.
template <class T, int n, bool with_mean>
__device__ void backward_of_row(const Backward<T>& a, std::size_t row, float* sums,
                                float* of_warp) {
  const std::size_t w = a.width;
  const T *x = a.x + row * w, *grad = a.grad + row * w;
  const float mean = with_mean ? a.stats[2 * row] : 0.0f,
              rstd = with_mean ? a.stats[2 * row + 1] : a.stats[row];
  float of_row[2] = {0, 0};
  for (std::size_t i = threadIdx.x * n; i < w; i += blockDim.x * n) {
    const Floats<n> v = load<n>(x + i), g = load<n>(grad + i), gain = load<n>(a.gain + i);
#pragma unroll
    for (int j = 0; j < n; ++j) {
      of_row[0] += g.at[j] * gain.at[j];
      of_row[1] += g.at[j] * gain.at[j] * (v.at[j] - mean);
    }
  }
  over_block(of_row, of_warp, Plus());
  const float g_mean = with_mean ? of_row[0] / static_cast<float>(w) : 0.0f,
              gx_mean = of_row[1] * rstd / static_cast<float>(w);
  for (std::size_t i = threadIdx.x * n; i < w; i += blockDim.x * n) {
    const Floats<n> v = load<n>(x + i), g = load<n>(grad + i), gain = load<n>(a.gain + i),
                    before = load<n>(a.dx + row * w + i);
    store<n>(a.dx + row * w + i, each_of<n>([&](int j) {
               const float normalised = (v.at[j] - mean) * rstd;
               return before.at[j] + (g.at[j] * gain.at[j] - g_mean - normalised * gx_mean) * rstd;
             }));
    if (!sums) continue;
#pragma unroll
    for (int j = 0; j < n; ++j) {  // the same thread for every row
      const std::size_t at = i + static_cast<unsigned>(j);
      sums[at] += g.at[j] * ((v.at[j] - mean) * rstd);
      if (with_mean) sums[w + at] += g.at[j];
    }
  }
}

template <class T, int n, bool with_mean>
__global__ void __launch_bounds__(256) backward(Backward<T> a, bool in_shared) {
  __shared__ SharedArray<float, 2 * most_warps> of_warp;
  const std::size_t block = blockIdx.x, blocks = gridDim.x, w = a.width,
                    size = with_mean ? 2 * w : w;
  float* const mine = a.sums ? a.sums + block * size : nullptr;
  float* const sums = mine && in_shared ? dynamic_shared<float>() : mine;
  const auto each_of_mine = [&](auto&& f) {
    for (std::size_t i = threadIdx.x * n; mine && i < w; i += blockDim.x * n) {
      for (std::size_t j = i; j < i + n; ++j) {
        f(j);
        if (with_mean) f(w + j);
      }
    }
  };
  each_of_mine([&](std::size_t i) { sums[i] = 0; });
  for (std::size_t r = a.rows * block / blocks; r < a.rows * (block + 1) / blocks; ++r)
    backward_of_row<T, n, with_mean>(a, r, sums, of_warp.at);
  if (in_shared) each_of_mine([&](std::size_t i) { mine[i] = sums[i]; });
}

struct Sums {
  const float* of_blocks;
  std::size_t stride;
  template <int n>
  __device__ Floats<n> at(std::size_t block, std::size_t c) const {
    return load<n>(of_blocks + block * stride + c);
  }
};

// As many blocks as run at once, for rows of this width.
std::size_t blocks_of(std::size_t rows, std::size_t width, const Launch& with) {
  const std::size_t threads = threads_for(width / 4),
                    at_once = static_cast<std::size_t>(with.multiprocessors) * (1024 / threads);
  return rows < at_once ? rows : at_once;
}
std::size_t scratch_of_rows(const auto& o, std::size_t sums, const Launch& with) {
  if (o.width == 0) return 0;
  return blocks_of(o.x.size() / o.width, o.width, with) * sums * o.width * sizeof(float);
}

template <class T, bool with_mean>
void run_backward(const Operands& is, const auto& o, View dbias_in, const Launch& with) {
  const std::size_t w = o.width, rows = is.rows("x", o.x, w), statistics = with_mean ? 2 : 1;
  is.scratch(o.scratch, scratch_of(o, with));
  Backward<T> a{.grad = is.in<T>("grad", o.grad, rows * w),
                .x = is.in<T>("x", o.x, rows * w),
                .gain = is.in<T>("gain", o.gain, w),
                .stats = is.in<float>("stats", o.stats, rows * statistics),
                .dx = is.out<T>("dx", o.dx, rows * w),
                .sums = nullptr,
                .rows = rows,
                .width = w};
  T* dgain = is.maybe_out<T>("dgain", o.dgain, w);
  T* dbias = is.maybe_out<T>("dbias", dbias_in, w);
  if (dgain || dbias) a.sums = reinterpret_cast<float*>(o.scratch.address());
  constexpr int n = width_of<T>;
  const bool packs = rows_fit<n>(a.x, w) && fits<n>(a.grad) && fits<n>(a.gain) && fits<n>(a.dx);
  const std::size_t blocks = blocks_of(rows, w, with), stride = statistics * w,
                    bytes = stride * sizeof(float);
  constexpr std::size_t most_shared = 32 << 10;
  const bool in_shared = a.sums && bytes <= most_shared;
  launch(packs ? backward<T, n, with_mean> : backward<T, 1, with_mean>,
         static_cast<unsigned>(blocks), threads_for(packs ? w / n : w), in_shared ? bytes : 0,
         with.stream, a, in_shared);
  const auto add = [&](std::size_t first, T* to) {
    if (!to) return;
    const float* sums = a.sums + first;
    over_columns<4>(Sums{sums, stride}, rows_fit<4>(sums, w), blocks, w, to, with);
  };
  add(0, dgain);
  add(w, dbias);
}

}  // namespace

std::size_t scratch_of(const LayerNormBackward& o, const Launch& with) {
  return scratch_of_rows(o, 2, with);
}
std::size_t scratch_of(const RmsNormBackward& o, const Launch& with) {
  return scratch_of_rows(o, 1, with);
}

void run_op(const LayerNormBackward& o, const Launch& with) {
  const Operands is("layer_norm_backward", Space::device);
  with_type(is, "x", o.x, [&]<class T>() { run_backward<T, true>(is, o, o.dbias, with); });
}

void run_op(const RmsNormBackward& o, const Launch& with) {
  const Operands is("rms_norm_backward", Space::device);
  with_type(is, "x", o.x, [&]<class T>() { run_backward<T, false>(is, o, {}, with); });
}

}  // namespace shardmark::cuda
