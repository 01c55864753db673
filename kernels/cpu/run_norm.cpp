// How is the normalisation of rows checked and shared among threads? Row by row; sums over rows are
// added once.
#include <cstring>

#include "kernels/operands.hpp"
#include "parallel.hpp"
#include "run.hpp"
#include "table.hpp"

namespace shardmark::cpu {

namespace {

constexpr std::size_t with_mean = 2, without_mean = 1;  // statistics of a row

template <class T>
void forward(const NormRows<T>& all, std::size_t statistics, void (*kernel)(const NormRows<T>&),
             int threads) {
  parallel_for(threads, all.rows, 1, [&](std::size_t b, std::size_t e) {
    NormRows<T> part = all;
    part.x += b * all.width;
    part.out += b * all.width;
    part.stats += b * statistics;
    part.rows = e - b;
    kernel(part);
  });
}

std::size_t parts_of(std::size_t rows, int threads) {
  return std::min(static_cast<std::size_t>(threads), rows);
}
// Each part has a row of f32 for dgain, and one for dbias.
std::size_t sums_of(std::size_t rows, std::size_t width, int threads) {
  return parts_of(rows, threads) * 2 * width * sizeof(float);
}

// Each part of the rows sums dgain and dbias for itself, in f32; the parts are added in their
// order, and what they come to is added to dgain and dbias.
template <class T>
void backward_in_parts(const NormRowsBackward<T>& all, std::size_t statistics,
                       void (*kernel)(const NormRowsBackward<T>&), float* sums, T* dgain, T* dbias,
                       int threads) {
  const std::size_t w = all.width, parts = parts_of(all.rows, threads);
  parallel_for(threads, parts, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      float* const mine = sums + p * 2 * w;
      std::memset(mine, 0, 2 * w * sizeof(float));
      const std::size_t b = all.rows * p / parts;
      NormRowsBackward<T> part = all;
      part.grad += b * w;
      part.x += b * w;
      part.stats += b * statistics;
      part.dx += b * w;
      part.dgain = dgain ? mine : nullptr;
      part.dbias = dbias ? mine + w : nullptr;
      part.rows = all.rows * (p + 1) / parts - b;
      kernel(part);
    }
  });
  for (std::size_t p = 1; p < parts; ++p) table().f32.add(sums + p * 2 * w, sums, 2 * w);
  if (dgain) table().of<T>().add_f32(sums, dgain, w);
  if (dbias) table().of<T>().add_f32(sums + w, dbias, w);
}

// What both kinds of gradient are given; the rest is theirs.
template <class T>
NormRowsBackward<T> checked(const Operands& is, const auto& o, std::size_t rows,
                            std::size_t statistics) {
  return {.grad = is.in<T>("grad", o.grad, rows * o.width),
          .x = is.in<T>("x", o.x, rows * o.width),
          .gain = is.in<T>("gain", o.gain, o.width),
          .stats = is.in<float>("stats", o.stats, rows * statistics),
          .dx = is.out<T>("dx", o.dx, rows * o.width),
          .dgain = nullptr,
          .dbias = nullptr,
          .rows = rows,
          .width = o.width};
}

std::size_t scratch_of_rows(const auto& o, int threads) {
  return o.width == 0 ? 0 : sums_of(o.x.size() / o.width, o.width, threads);
}
float* sums_in(const Operands& is, const auto& o, int threads) {
  is.scratch(o.scratch, scratch_of(o, threads));
  return reinterpret_cast<float*>(o.scratch.address());
}

}  // namespace

std::size_t scratch_of(const LayerNormBackward& o, int threads) {
  return scratch_of_rows(o, threads);
}
std::size_t scratch_of(const RmsNormBackward& o, int threads) {
  return scratch_of_rows(o, threads);
}

void run_op(const LayerNorm& o, int threads) {
  const Operands is("layer_norm", Space::host);
  const std::size_t w = o.width, rows = is.rows("x", o.x, w);
  with_type(is, "x", o.x, [&]<class T>() {
    forward<T>({.x = is.in<T>("x", o.x, rows * w),
                .gain = is.in<T>("gain", o.gain, w),
                .bias = is.in<T>("bias", o.bias, w),
                .out = is.out<T>("out", o.out, rows * w),
                .stats = is.out<float>("stats", o.stats, rows * with_mean),
                .rows = rows,
                .width = w,
                .epsilon = o.epsilon},
               with_mean, table().of<T>().layer_norm, threads);
  });
}

void run_op(const LayerNormBackward& o, int threads) {
  const Operands is("layer_norm_backward", Space::host);
  const std::size_t rows = is.rows("x", o.x, o.width);
  with_type(is, "x", o.x, [&]<class T>() {
    NormRowsBackward<T> all = checked<T>(is, o, rows, with_mean);
    T* dgain = is.maybe_out<T>("dgain", o.dgain, o.width);
    T* dbias = is.maybe_out<T>("dbias", o.dbias, o.width);
    float* sums = sums_in(is, o, threads);
    if constexpr (std::is_same_v<T, float>) {
      if (threads == 1) {  // nothing to gather, and nothing to round
        all.dgain = dgain;
        all.dbias = dbias;
        return table().f32.layer_norm_backward(all);
      }
    }
    backward_in_parts<T>(all, with_mean, table().of<T>().layer_norm_backward, sums, dgain, dbias,
                         threads);
  });
}

void run_op(const RmsNorm& o, int threads) {
  const Operands is("rms_norm", Space::host);
  const std::size_t w = o.width, rows = is.rows("x", o.x, w);
  with_type(is, "x", o.x, [&]<class T>() {
    forward<T>({.x = is.in<T>("x", o.x, rows * w),
                .gain = is.in<T>("gain", o.gain, w),
                .bias = nullptr,
                .out = is.out<T>("out", o.out, rows * w),
                .stats = is.out<float>("stats", o.stats, rows * without_mean),
                .rows = rows,
                .width = w,
                .epsilon = o.epsilon},
               without_mean, table().of<T>().rms_norm, threads);
  });
}

void run_op(const RmsNormBackward& o, int threads) {
  const Operands is("rms_norm_backward", Space::host);
  const std::size_t rows = is.rows("x", o.x, o.width);
  with_type(is, "x", o.x, [&]<class T>() {
    const NormRowsBackward<T> all = checked<T>(is, o, rows, without_mean);
    T* dgain = is.maybe_out<T>("dgain", o.dgain, o.width);
    backward_in_parts<T>(all, without_mean, table().of<T>().rms_norm_backward,
                         sums_in(is, o, threads), dgain, nullptr, threads);
  });
}

}  // namespace shardmark::cpu
