// What does a GPU do in the optimizer's part of a step? The sum of squares in two passes, in an order
// that depends on the size of a part alone; the scalars of the step by one thread; and AdamW in one
// pass, at the rate of memory. Scalars and AdamW have the processor's bits, sums of squares do not.
#include <cub/block/block_reduce.cuh>

#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/packs.cuh"
#include "kernels/operands.hpp"

namespace shardmark::cuda {
namespace {

constexpr int threads = 256;
using Reduce = cub::BlockReduce<double, threads>;

// How a part is shared among blocks: contiguous chunks of whole packs.
struct Chunks {
  std::size_t blocks, elements;
};
constexpr int pack = 8;
Chunks chunks_of(std::size_t size) {
  constexpr std::size_t least = 16384, most_blocks = 1024;
  const std::size_t wanted = (size + least - 1) / least;
  const std::size_t blocks = wanted < most_blocks ? wanted : most_blocks;
  const std::size_t elements = (size + blocks - 1) / blocks;
  return {blocks, (elements + pack - 1) / pack * pack};
}

// Block (b, p): the sum of squares of chunk b of part p. Which thread takes which element does not
// depend on where the part stands.
template <class T>
__global__ void __launch_bounds__(threads)
    squares_of_chunks(const T* x, std::size_t size, std::size_t chunk, double* partials) {
  const std::size_t begin = blockIdx.x * chunk, end = begin + chunk < size ? begin + chunk : size;
  x += blockIdx.y * size;
  const bool packs = reinterpret_cast<std::uintptr_t>(x) % alignof(Pack<T, pack>) == 0;
  double sum = 0;
  for (std::size_t i = begin + threadIdx.x * pack; i < end; i += threads * pack) {
    Floats<pack> v;
    if (packs && i + pack <= end) {
      v = load<pack>(x + i);
    } else {
      v = each_of<pack>([&](int j) {
        const std::size_t at = i + static_cast<unsigned>(j);
        return at < end ? widened(x[at]) : 0.0f;
      });
    }
#pragma unroll
    for (int j = 0; j < pack; ++j) sum += double{v.at[j]} * double{v.at[j]};
  }
  __shared__ Reduce::TempStorage storage;
  const double all = Reduce(storage).Sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.y * gridDim.x + blockIdx.x] = all;
}
__global__ void __launch_bounds__(threads)
    add_chunks(const double* partials, std::size_t chunks, double* total) {
  double sum = 0;
  for (std::size_t i = threadIdx.x; i < chunks; i += threads)
    sum += partials[blockIdx.x * chunks + i];
  __shared__ Reduce::TempStorage storage;
  const double all = Reduce(storage).Sum(sum);
  if (threadIdx.x == 0) total[blockIdx.x] += all;
}

__global__ void control_step(Clipping clipping) { clipping.run(); }

struct Moments {
  float weight, first, second;
};
struct Adam {
  AdamParameters with;
  float coefficient, correct1, correct2;
  // As kernels/cpu/adamw.cpp, each operation rounded by itself.
  __device__ Moments step(Moments at, float grad) const {
    const float g = __fmul_rn(grad, coefficient);
    at.first = __fadd_rn(__fmul_rn(at.first, with.beta1), __fmul_rn(g, 1.0f - with.beta1));
    at.second =
        __fadd_rn(__fmul_rn(at.second, with.beta2), __fmul_rn(__fmul_rn(g, g), 1.0f - with.beta2));
    const float root = __fadd_rn(__fsqrt_rn(__fmul_rn(at.second, correct2)), with.epsilon);
    const float change =
        __fadd_rn(__fdiv_rn(__fmul_rn(at.first, correct1), root), __fmul_rn(at.weight, with.decay));
    at.weight = __fsub_rn(at.weight, __fmul_rn(change, with.lr));
    return at;
  }
};
template <class T>
struct Arrays {
  T* weight;
  float* master;  // where T is f32, the weight
  const T* grad;
  float *first, *second;

  template <int n>
  __device__ void update(std::size_t i, const Adam& adam) const {
    Floats<n> w = load<n>(master + i), m = load<n>(first + i), v = load<n>(second + i);
    const Floats<n> g = load<n>(grad + i);
#pragma unroll
    for (int j = 0; j < n; ++j) {
      const Moments x = adam.step({w.at[j], m.at[j], v.at[j]}, g.at[j]);
      w.at[j] = x.weight, m.at[j] = x.first, v.at[j] = x.second;
    }
    store<n>(master + i, w);
    store<n>(first + i, m);
    store<n>(second + i, v);
    if constexpr (sizeof(T) < sizeof(float)) store<n>(weight + i, w);
  }
};

__device__ Adam adam_of(const AdamParameters& with, const float* control) {
  const auto slot = [&](ControlSlot s) { return control[static_cast<int>(s)]; };
  return {with, slot(ControlSlot::coefficient),
          bias_correction(with.beta1, slot(ControlSlot::step)),
          bias_correction(with.beta2, slot(ControlSlot::step))};
}

template <class T, int width>
__global__ void __launch_bounds__(threads)
    adamw(Arrays<T> of, std::size_t n, const float* control, AdamParameters with) {
  if (control[static_cast<int>(ControlSlot::skip)] != 0) return;
  __shared__ SharedArray<Adam, 1> adam;  // its powers take a while
  if (threadIdx.x == 0) adam[0] = adam_of(with, control);
  __syncthreads();
  const std::size_t thread = std::size_t{blockIdx.x} * threads + threadIdx.x,
                    all = std::size_t{gridDim.x} * threads, packs = n / width;
  for (std::size_t i = thread; i < packs; i += all) of.template update<width>(i * width, adam[0]);
  if (width > 1 && packs * width + thread < n)
    of.template update<1>(packs * width + thread, adam[0]);
}

}  // namespace

void run_op(const SumSquares& o, const Launch& with) {
  const Operands is("sum_squares", Space::device);
  with_type(is, "x", o.x, [&]<class T>() {
    const T* x = is.in<T>("x", o.x, o.x.size());
    const std::size_t parts = o.total.size() > 0 ? o.total.size() : 1;
    double* total = is.out<double>("total", o.total, parts);
    is.need(o.x.size() % parts == 0, "x has " + std::to_string(o.x.size()) +
                                         " elements, which are no " + std::to_string(parts) +
                                         " equal parts");
    const std::size_t size = o.x.size() / parts;
    const Chunks c = chunks_of(size);
    const std::size_t at_once = Launch::most_partials / c.blocks;  // parts
    for (std::size_t p = 0; p < parts; p += at_once) {
      const auto count = static_cast<unsigned>(parts - p < at_once ? parts - p : at_once);
      launch(squares_of_chunks<T>, dim3(static_cast<unsigned>(c.blocks), count), threads, 0,
             with.stream, x + p * size, size, c.elements, with.partials);
      launch(add_chunks, count, threads, 0, with.stream, with.partials, c.blocks, total + p);
    }
  });
}

void run_op(const ClipControl& o, const Launch& with) {
  const Operands is("clip_control", Space::device);
  launch(control_step, 1, 1, 0, with.stream, clipping_of(is, o));
}

void run_op(const AdamW& o, const Launch& with) {
  const Operands is("adamw", Space::device);
  const std::size_t n = o.weight.size();
  with_type(is, "weight", o.weight, [&]<class T>() {
    Arrays<T> of{};
    of.weight = is.out<T>("weight", o.weight, n);
    if constexpr (std::is_same_v<T, float>) {
      is.need(!o.master,
              "master is given beside an f32 weight, which is its own master: leave it empty");
      of.master = of.weight;
    } else {
      of.master = is.out<float>("master", o.master, n);
    }
    of.grad = is.in<T>("grad", o.grad, n);
    of.first = is.out<float>("first", o.first, n);
    of.second = is.out<float>("second", o.second, n);
    const float* control = is.in<float>("control", o.control, control_slots);
    constexpr int width = 4;
    const bool packs = fits<width>(of.weight) && fits<width>(of.master) && fits<width>(of.grad) &&
                       fits<width>(of.first) && fits<width>(of.second);
    const std::size_t wanted = (n / (packs ? width : 1) + threads - 1) / threads,
                      most = static_cast<std::size_t>(with.multiprocessors) * 8;
    const auto blocks = static_cast<unsigned>(wanted < 1 ? 1 : wanted < most ? wanted : most);
    launch(packs ? adamw<T, width> : adamw<T, 1>, blocks, threads, 0, with.stream, of, n, control,
           o.with);
  });
}

}  // namespace shardmark::cuda
