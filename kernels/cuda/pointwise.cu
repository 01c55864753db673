// How are GELU and SwiGLU computed? One pass over memory.
#include "kernels/cuda/math.cuh"
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/packs.cuh"
#include "kernels/operands.hpp"

namespace shardmark::cuda {
namespace {

template <class T>
struct ByGelu {
  const T* x;
  T* out;
  template <int n>
  __device__ void at(std::size_t i) const {
    const Floats<n> v = load<n>(x + i);
    store<n>(out + i, each_of<n>([&](int j) { return GeluOf::value(v.at[j]); }));
  }
};

// A block has a row.
template <int n, class T>
__global__ void __launch_bounds__(256) swiglu(const T* x, T* out, std::size_t columns) {
  const T* gates = x + std::size_t{blockIdx.x} * 2 * columns;
  T* to = out + std::size_t{blockIdx.x} * columns;
  for (std::size_t c = threadIdx.x * n; c < columns; c += blockDim.x * n) {
    const Floats<n> gate = load<n>(gates + c), up = load<n>(gates + columns + c);
    store<n>(to + c, each_of<n>([&](int j) { return SiluOf::value(gate.at[j]) * up.at[j]; }));
  }
}
template <int n, class T>
__global__ void __launch_bounds__(256)
    swiglu_backward(const T* x, const T* grad, T* dx, std::size_t columns) {
  const std::size_t row = blockIdx.x;
  x += row * 2 * columns, dx += row * 2 * columns, grad += row * columns;
  for (std::size_t c = threadIdx.x * n; c < columns; c += blockDim.x * n) {
    const Floats<n> g = load<n>(grad + c), gate = load<n>(x + c), up = load<n>(x + columns + c);
    store<n>(dx + c,
             each_of<n>([&](int j) { return g.at[j] * up.at[j] * SiluOf::slope(gate.at[j]); }));
    store<n>(dx + columns + c,
             each_of<n>([&](int j) { return g.at[j] * SiluOf::value(gate.at[j]); }));
  }
}

}  // namespace

void run_op(const Gelu& o, const Launch& with) {
  const Operands is("gelu", Space::device);
  with_type(is, "x", o.x, [&]<class T>() {
    const T* x = is.in<T>("x", o.x, o.x.size());
    T* out = is.out<T>("out", o.out, o.x.size());
    constexpr int width = width_of<T>;
    over_elements<width>(o.x.size(), fits<width>(x) && fits<width>(out), ByGelu<T>{x, out}, with);
  });
}

void run_op(const Swiglu& o, const Launch& with) {
  const Operands is("swiglu", Space::device);
  const std::size_t n = o.columns, rows = is.rows("out", o.out, n);
  with_type(is, "x", o.x, [&]<class T>() {
    const T* x = is.in<T>("x", o.x, rows * 2 * n);
    T* out = is.out<T>("out", o.out, rows * n);
    constexpr int width = width_of<T>;
    const bool packs = rows_fit<width>(x, n) && fits<width>(out);
    launch(packs ? swiglu<width, T> : swiglu<1, T>, static_cast<unsigned>(rows),
           threads_for(packs ? n / width : n), 0, with.stream, x, out, n);
  });
}

void run_op(const SwigluBackward& o, const Launch& with) {
  const Operands is("swiglu_backward", Space::device);
  const std::size_t n = o.columns, rows = is.rows("grad", o.grad, n);
  with_type(is, "x", o.x, [&]<class T>() {
    const T* x = is.in<T>("x", o.x, rows * 2 * n);
    const T* grad = is.in<T>("grad", o.grad, rows * n);
    T* dx = is.out<T>("dx", o.dx, rows * 2 * n);
    constexpr int width = width_of<T>;
    const bool packs = rows_fit<width>(x, n) && fits<width>(grad) && fits<width>(dx);
    launch(packs ? swiglu_backward<width, T> : swiglu_backward<1, T>, static_cast<unsigned>(rows),
           threads_for(packs ? n / width : n), 0, with.stream, x, grad, dx, n);
  });
}

}  // namespace shardmark::cuda
