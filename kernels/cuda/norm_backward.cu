// What flows back through the normalisation of rows? A block has some rows, one after the other,
// and sums dgain and dbias over them in f32; a second pass adds up what the blocks have, in their
// order.
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

// The f32 sums that a block has for the columns of its rows, a pack at a time in pieces of up to 16
// bytes. In shared memory the first pieces of all packs come first: packs of 32 bytes side by side
// would leave half of its banks idle at each access.
template <int n, bool in_shared>
struct RowSums {
  static constexpr int wide = n < 4 ? n : 4, pieces = n / wide;
  float* at;
  std::size_t width;

  __device__ float* piece(std::size_t column, int k) const {
    const auto of_pack = static_cast<unsigned>(k);
    return at + (in_shared ? (column + of_pack * width) / pieces : column + of_pack * wide);
  }
  __device__ void clear(std::size_t column) const {
#pragma unroll
    for (int k = 0; k < pieces; ++k) store<wide>(piece(column, k), Floats<wide>{});
  }
  // f(j): what is added to the sum of column + j.
  __device__ void add(std::size_t column, const auto& f) const {
#pragma unroll
    for (int k = 0; k < pieces; ++k) {
      const Floats<wide> sum = load<wide>(piece(column, k));
      store<wide>(piece(column, k),
                  each_of<wide>([&](int j) { return sum.at[j] + f(k * wide + j); }));
    }
  }
  __device__ void copy(std::size_t column, float* to) const {
#pragma unroll
    for (int k = 0; k < pieces; ++k)
      store<wide>(to + column + static_cast<unsigned>(k * wide), load<wide>(piece(column, k)));
  }
};

// With the mean: of g = grad * gain and of g times the normalised row; without: of the latter.
template <class T, int n, bool with_mean>
__device__ void backward_of_row(const Backward<T>& a, std::size_t row, const auto& of_gain,
                                const auto& of_bias, float* of_warp) {
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
    if (!a.sums) continue;  // else the same thread for every row
    of_gain.add(i, [&](int j) { return g.at[j] * ((v.at[j] - mean) * rstd); });
    if (with_mean) of_bias.add(i, [&](int j) { return g.at[j]; });
  }
}

template <class T, int n, bool with_mean, bool in_shared>
__global__ void __launch_bounds__(256) backward(Backward<T> a) {
  __shared__ SharedArray<float, 2 * most_warps> of_warp;
  const std::size_t block = blockIdx.x, blocks = gridDim.x, w = a.width;
  float* const mine = a.sums ? a.sums + block * (with_mean ? 2 * w : w) : nullptr;
  float* sums = mine;
  if constexpr (in_shared) sums = dynamic_shared<float>();
  const RowSums<n, in_shared> of_gain{sums, w}, of_bias{sums ? sums + w : nullptr, w};
  for (std::size_t i = threadIdx.x * n; a.sums && i < w; i += blockDim.x * n) {
    of_gain.clear(i);
    if (with_mean) of_bias.clear(i);
  }
  for (std::size_t r = a.rows * block / blocks; r < a.rows * (block + 1) / blocks; ++r)
    backward_of_row<T, n, with_mean>(a, r, of_gain, of_bias, of_warp.at);
  for (std::size_t i = threadIdx.x * n; in_shared && i < w; i += blockDim.x * n) {
    of_gain.copy(i, mine);
    if (with_mean) of_bias.copy(i, mine + w);
  }
}
template <class T, int n, bool with_mean>
auto kernel_for(bool in_shared) {
  return in_shared ? backward<T, n, with_mean, true> : backward<T, n, with_mean, false>;
}

struct Sums {
  const float* of_blocks;
  std::size_t stride;
  template <int n>
  __device__ Pack<float, n> read(std::size_t block, std::size_t c) const {
    return load_pack<n>(of_blocks + block * stride + c);
  }
  template <int n>
  __device__ Floats<n> value(std::size_t, std::size_t, const Pack<float, n>& there) const {
    return widened(there);
  }
};

// As many blocks as run at once where each has the threads that packs of rows of this width ask
// for; whether addresses let there be packs does not count, as scratch is asked for without them.
std::size_t blocks_of(std::size_t rows, std::size_t width, DType dtype, const Launch& with) {
  const std::size_t of_pack = 16 / size_of(dtype),
                    threads = threads_for(width % of_pack == 0 ? width / of_pack : width),
                    at_once = static_cast<std::size_t>(with.multiprocessors) * (1024 / threads);
  return rows < at_once ? rows : at_once;
}
std::size_t scratch_of_rows(const auto& o, std::size_t sums, const Launch& with) {
  if (o.width == 0) return 0;
  return blocks_of(o.x.size() / o.width, o.width, o.x.dtype(), with) * sums * o.width *
         sizeof(float);
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
  const bool packs =
      rows_fit<n>(a.x, w) && fits<n>(a.grad) && fits<n>(a.gain) && fits<n>(a.dx) && fits<4>(a.sums);
  const std::size_t blocks = blocks_of(rows, w, o.x.dtype(), with), stride = statistics * w,
                    bytes = stride * sizeof(float);
  constexpr std::size_t most_shared = 32 << 10;
  const bool in_shared = a.sums && bytes <= most_shared;
  launch(packs ? kernel_for<T, n, with_mean>(in_shared) : kernel_for<T, 1, with_mean>(in_shared),
         static_cast<unsigned>(blocks), threads_for(packs ? w / n : w), in_shared ? bytes : 0,
         with.stream, a);
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
