// What is the loss, and its gradient? A block has a row of logits and reads it once; losses are
// added in double, in two passes whose order depends on the number of rows alone. A target that is
// no class gives NaN: the host reads nothing here.
#include <cub/block/block_reduce.cuh>

#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/sums.cuh"
#include "kernels/operands.hpp"

namespace shardmark::cuda {
namespace {

constexpr unsigned threads = 256;

__device__ bool is_class(std::int32_t target, std::size_t classes) {
  return target >= 0 && static_cast<std::size_t>(target) < classes;
}
__device__ float infinity() { return __uint_as_float(0x7f800000u); }

// Of a row without packs a thread takes n elements at once all the same, so that as many reads are
// on their way: every `threads`-th, so that where the row lies does not change the order of sums.
// Beyond the row there is -infinity, which adds nothing.
template <int n>
__device__ unsigned left_of_row(std::size_t classes, std::size_t i) {
  constexpr unsigned most = n * threads;
  return classes - i < most ? static_cast<unsigned>(classes - i) : most;
}
template <int n, class T>
__device__ Floats<n> load_apart(const T* x, unsigned left) {
  return each_of<n>([&](int j) {
    const unsigned at = static_cast<unsigned>(j) * threads;
    return at < left ? widened(x[at]) : -infinity();
  });
}

// The largest number so far, and the sum of e^(x - largest).
struct Exponentials {
  float top = -infinity(), sum = 0;
  template <int n>
  __device__ void take(const Floats<n>& x) {
    float next = top;
#pragma unroll
    for (int j = 0; j < n; ++j) next = x.at[j] > next ? x.at[j] : next;
    const float base = next == -infinity() ? 0.0f : next;  // nothing is subtracted from itself
    float more = 0;
#pragma unroll
    for (int j = 0; j < n; ++j) more += __expf(x.at[j] - base);
    sum = sum * __expf(top - base) + more;
    top = next;
  }
};

template <class T, int n, bool packs>
__global__ void __launch_bounds__(threads)
    cross_entropy(const T* logits, const std::int32_t* targets, std::size_t rows,
                  std::size_t classes, float* lse, double* partials) {
  __shared__ SharedArray<float, most_warps> of_warp;
  double loss = 0;
  for (std::size_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T* x = logits + r * classes;
    Exponentials mine;
    if constexpr (packs) {
      for (std::size_t i = threadIdx.x * n; i < classes; i += blockDim.x * n)
        mine.take(load<n>(x + i));
    } else {
      for (std::size_t i = threadIdx.x; i < classes; i += n * threads)
        mine.take(load_apart<n>(x + i, left_of_row<n>(classes, i)));
    }
    const float top = block_max(mine.top, of_warp.at);
    const float log_sum = logf(block_sum(mine.sum * __expf(mine.top - top), of_warp.at));
    if (threadIdx.x != 0) continue;
    lse[r] = top + log_sum;
    const float target =
        is_class(targets[r], classes) ? widened(x[targets[r]]) : __uint_as_float(0x7fc00000u);
    loss += (static_cast<double>(top) - static_cast<double>(target)) + static_cast<double>(log_sum);
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = loss;
}
__global__ void __launch_bounds__(threads)
    add_losses(const double* partials, std::size_t count, double scale, double rows, double* loss) {
  double sum = 0;
  for (std::size_t i = threadIdx.x; i < count; i += threads) sum += partials[i];
  using Reduce = cub::BlockReduce<double, threads>;
  __shared__ Reduce::TempStorage storage;
  const double all = Reduce(storage).Sum(sum);
  if (threadIdx.x == 0) *loss += scale * all / rows;
}

template <class T, int n, bool packs>
__global__ void __launch_bounds__(threads)
    cross_entropy_backward(T* logits, const float* lse, const std::int32_t* targets,
                           std::size_t classes, double scale, double rows, const float* control) {
  const std::size_t row = blockIdx.x;
  const double all = control ? scale * control[static_cast<int>(ControlSlot::loss_scale)] : scale;
  const float factor = static_cast<float>(all / rows), of_row = lse[row];
  const std::int32_t target = targets[row];
  const bool known = is_class(target, classes);
  T* x = logits + row * classes;
  const auto gradient = [&](std::size_t i, float v) {
    const float p = known ? __expf(v - of_row) : __uint_as_float(0x7fc00000u);
    return p * factor - (known && i == static_cast<std::size_t>(target) ? factor : 0.0f);
  };
  if constexpr (packs) {
    for (std::size_t i = threadIdx.x * n; i < classes; i += blockDim.x * n) {
      const Floats<n> v = load<n>(x + i);
      store<n>(x + i,
               each_of<n>([&](int j) { return gradient(i + static_cast<unsigned>(j), v.at[j]); }));
    }
  } else {
    for (std::size_t i = threadIdx.x; i < classes; i += n * threads) {
      const unsigned left = left_of_row<n>(classes, i);
      const Floats<n> v = load_apart<n>(x + i, left);
#pragma unroll
      for (int j = 0; j < n; ++j) {
        const unsigned at = static_cast<unsigned>(j) * threads;
        if (at < left) x[i + at] = narrowed<T>(gradient(i + at, v.at[j]));
      }
    }
  }
}

}  // namespace

void run_op(const CrossEntropy& o, const Launch& with) {
  const Operands is("cross_entropy", Space::device);
  const std::size_t classes = o.classes, rows = is.rows("logits", o.logits, classes);
  with_type(is, "logits", o.logits, [&]<class T>() {
    const T* logits = is.in<T>("logits", o.logits, rows * classes);
    const auto* targets = is.in<std::int32_t>("targets", o.targets, rows);
    float* lse = is.out<float>("lse", o.lse, rows);
    double* loss = is.out<double>("loss", o.loss, o.loss.size());
    is.need(o.at < o.loss.size(), "entry " + std::to_string(o.at) + " lies behind the end of loss");
    constexpr int n = width_of<T>;
    const bool packs = rows_fit<n>(logits, classes);
    const std::size_t blocks = rows < Launch::most_partials ? rows : Launch::most_partials;
    launch(packs ? cross_entropy<T, n, true> : cross_entropy<T, n, false>,
           static_cast<unsigned>(blocks), packs ? threads_for(classes / n, threads) : threads, 0,
           with.stream, logits, targets, rows, classes, lse, with.partials);
    launch(add_losses, 1, threads, 0, with.stream, with.partials, blocks, o.scale,
           static_cast<double>(rows), loss + o.at);
  });
}

void run_op(const CrossEntropyBackward& o, const Launch& with) {
  const Operands is("cross_entropy_backward", Space::device);
  const std::size_t classes = o.classes, rows = is.rows("logits", o.logits, classes);
  const auto* targets = is.in<std::int32_t>("targets", o.targets, rows);
  const float* lse = is.in<float>("lse", o.lse, rows);
  const float* control = is.maybe_in<float>("control", o.control, control_slots);
  with_type(is, "logits", o.logits, [&]<class T>() {
    T* logits = is.out<T>("logits", o.logits, rows * classes);
    constexpr int n = width_of<T>;
    const bool packs = rows_fit<n>(logits, classes);
    launch(packs ? cross_entropy_backward<T, n, true> : cross_entropy_backward<T, n, false>,
           static_cast<unsigned>(rows), packs ? threads_for(classes / n, threads) : threads, 0,
           with.stream, logits, lse, targets, classes, o.scale, static_cast<double>(rows), control);
  });
}

}  // namespace shardmark::cuda
