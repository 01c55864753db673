// How are RMSNorm and SwiGLU checked and shared among threads? Row by row.
#include <vector>

#include "checks.hpp"
#include "parallel.hpp"
#include "run.hpp"
#include "table.hpp"

namespace shardmark::cpu {

namespace {

template <class T>
void forward(const Operands& is, const RmsNorm& o, int threads) {
  const std::size_t w = o.width, rows = is.rows("x", o.x, w);
  const RmsNormRows<T> all{.x = is.in<T>("x", o.x, rows * w),
                           .gain = is.in<T>("gain", o.gain, w),
                           .out = is.out<T>("out", o.out, rows * w),
                           .stats = is.out<float>("stats", o.stats, rows),
                           .rows = rows,
                           .width = w,
                           .epsilon = o.epsilon};
  parallel_for(threads, rows, 1, [&](std::size_t b, std::size_t e) {
    RmsNormRows<T> part = all;
    part.x += b * w;
    part.out += b * w;
    part.stats += b;
    part.rows = e - b;
    table().of<T>().rms_norm(part);
  });
}

template <class T>
void backward(const Operands& is, const RmsNormBackward& o, int threads) {
  const std::size_t w = o.width, rows = is.rows("x", o.x, w);
  const RmsNormRowsBackward<T> all{.grad = is.in<T>("grad", o.grad, rows * w),
                                   .x = is.in<T>("x", o.x, rows * w),
                                   .gain = is.in<T>("gain", o.gain, w),
                                   .stats = is.in<float>("stats", o.stats, rows),
                                   .dx = is.out<T>("dx", o.dx, rows * w),
                                   .dgain = nullptr,
                                   .rows = rows,
                                   .width = w};
  T* dgain = is.maybe_out<T>("dgain", o.dgain, w);
  // Each thread sums dgain for itself; then the parts are added in their order, and rounded once.
  const std::size_t parts = std::min(static_cast<std::size_t>(threads), rows);
  std::vector<float> sums(dgain ? parts * w : 0);
  parallel_for(threads, parts, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      const std::size_t b = rows * p / parts;
      RmsNormRowsBackward<T> part = all;
      part.grad += b * w;
      part.x += b * w;
      part.stats += b;
      part.dx += b * w;
      if (dgain) part.dgain = sums.data() + p * w;
      part.rows = rows * (p + 1) / parts - b;
      table().of<T>().rms_norm_backward(part);
    }
  });
  if (!dgain) return;
  for (std::size_t p = 1; p < parts; ++p) table().f32.add(sums.data() + p * w, sums.data(), w);
  table().of<T>().add_f32(sums.data(), dgain, w);
}

template <class T>
void forward(const Operands& is, const Swiglu& o, int threads) {
  const std::size_t n = o.columns, rows = is.rows("out", o.out, n);
  const T* x = is.in<T>("x", o.x, rows * 2 * n);
  T* out = is.out<T>("out", o.out, rows * n);
  parallel_for(threads, rows, 1, [&](std::size_t b, std::size_t e) {
    table().of<T>().swiglu(x + b * 2 * n, out + b * n, e - b, n);
  });
}

template <class T>
void backward(const Operands& is, const SwigluBackward& o, int threads) {
  const std::size_t n = o.columns, rows = is.rows("grad", o.grad, n);
  const T* x = is.in<T>("x", o.x, rows * 2 * n);
  const T* grad = is.in<T>("grad", o.grad, rows * n);
  T* dx = is.out<T>("dx", o.dx, rows * 2 * n);
  parallel_for(threads, rows, 1, [&](std::size_t b, std::size_t e) {
    table().of<T>().swiglu_backward(x + b * 2 * n, grad + b * n, dx + b * 2 * n, e - b, n);
  });
}

}  // namespace

void run_op(const RmsNorm& o, int threads) {
  const Operands is("rms_norm");
  with_type(is, "x", o.x, [&]<class T>() { forward<T>(is, o, threads); });
}
void run_op(const RmsNormBackward& o, int threads) {
  const Operands is("rms_norm_backward");
  with_type(is, "x", o.x, [&]<class T>() { backward<T>(is, o, threads); });
}
void run_op(const Swiglu& o, int threads) {
  const Operands is("swiglu");
  with_type(is, "x", o.x, [&]<class T>() { forward<T>(is, o, threads); });
}
void run_op(const SwigluBackward& o, int threads) {
  const Operands is("swiglu_backward");
  with_type(is, "x", o.x, [&]<class T>() { backward<T>(is, o, threads); });
}

}  // namespace shardmark::cpu
