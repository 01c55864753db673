// What is summed over rows on the way back? Columns, and those of what passes through GELU, which
// is computed in the same pass.
#include "kernels/cuda/columns.cuh"

#include "kernels/cuda/math.cuh"
#include "kernels/cuda/ops.hpp"
#include "kernels/operands.hpp"

namespace shardmark::cuda {
namespace {

template <class T>
struct Rows {
  const T* x;
  std::size_t columns;
  template <int n>
  __device__ Pack<T, n> read(std::size_t r, std::size_t c) const {
    return load_pack<n>(x + r * columns + c);
  }
  template <int n>
  __device__ Floats<n> value(std::size_t, std::size_t, const Pack<T, n>& there) const {
    return widened(there);
  }
};

template <class T>
struct ThroughGelu {
  const T* x;
  T* grad;
  std::size_t columns;
  template <int n>
  struct There {
    Pack<T, n> x, grad;
  };
  template <int n>
  __device__ There<n> read(std::size_t r, std::size_t c) const {
    return {load_pack<n>(x + r * columns + c), load_pack<n>(grad + r * columns + c)};
  }
  template <int n>
  __device__ Floats<n> value(std::size_t r, std::size_t c, const There<n>& there) const {
    return write(r * columns + c, there);
  }
  template <int n>
  __device__ void at(std::size_t i) const {
    write(i, There<n>{load_pack<n>(x + i), load_pack<n>(grad + i)});
  }
  template <int n>
  __device__ Floats<n> write(std::size_t i, const There<n>& there) const {
    const Floats<n> v = widened(there.x), g = widened(there.grad);
    const Floats<n> back = each_of<n>([&](int j) { return g.at[j] * GeluOf::slope(v.at[j]); });
    store<n>(grad + i, back);
    return back;
  }
};

}  // namespace

void run_op(const ColumnSum& o, const Launch& with) {
  const Operands is("column_sum", Space::device);
  const std::size_t columns = o.total.size(), rows = is.rows("x", o.x, columns);
  with_type(is, "x", o.x, [&]<class T>() {
    const T* x = is.in<T>("x", o.x, rows * columns);
    T* total = is.out<T>("total", o.total, columns);
    constexpr int width = width_of<T>;
    over_columns<width>(Rows<T>{x, columns}, rows_fit<width>(x, columns), rows, columns, total,
                        with);
  });
}

void run_op(const GeluBackward& o, const Launch& with) {
  const Operands is("gelu_backward", Space::device);
  const std::size_t columns = o.columns, rows = is.rows("x", o.x, columns);
  with_type(is, "x", o.x, [&]<class T>() {
    const T* x = is.in<T>("x", o.x, rows * columns);
    T* grad = is.out<T>("grad", o.grad, rows * columns);
    T* bias = is.maybe_out<T>("bias_grad", o.bias_grad, columns);
    constexpr int width = width_of<T>;
    const ThroughGelu<T> f{x, grad, columns};
    if (bias)
      over_columns<width>(f, rows_fit<width>(x, columns) && fits<width>(grad), rows, columns, bias,
                          with);
    else
      over_elements<width>(rows * columns, fits<width>(x) && fits<width>(grad), f, with);
  });
}

}  // namespace shardmark::cuda
