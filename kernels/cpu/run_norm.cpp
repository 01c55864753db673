// How is the normalisation of rows checked and shared among threads? Row by row; sums over rows are
// added once.
#include <vector>

#include "checks.hpp"
#include "parallel.hpp"
#include "run.hpp"
#include "table.hpp"

namespace shardmark::cpu {

void run_op(const LayerNorm& o, int threads) {
  const Operands is("layer_norm");
  const std::size_t w = o.width, rows = is.rows("x", o.x, w);
  with_type(is, "x", o.x, [&]<class T>() {
    const NormRows<T> all{.x = is.in<T>("x", o.x, rows * w),
                          .gain = is.in<T>("gain", o.gain, w),
                          .bias = is.in<T>("bias", o.bias, w),
                          .out = is.out<T>("out", o.out, rows * w),
                          .stats = is.out<float>("stats", o.stats, 2 * rows),
                          .rows = rows,
                          .width = w,
                          .epsilon = o.epsilon};
    parallel_for(threads, rows, 1, [&](std::size_t b, std::size_t e) {
      NormRows<T> part = all;
      part.x += b * w;
      part.out += b * w;
      part.stats += 2 * b;
      part.rows = e - b;
      table().of<T>().layer_norm(part);
    });
  });
}

namespace {

// Each part of the rows sums dgain and dbias for itself, in f32; the parts are added in their
// order, and what they come to is added to dgain and dbias.
template <class T>
void backward_in_parts(const NormRowsBackward<T>& all, T* dgain, T* dbias, int threads) {
  const std::size_t w = all.width, parts = std::min(static_cast<std::size_t>(threads), all.rows);
  std::vector<float> sums(parts * 2 * w);
  parallel_for(threads, parts, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      const std::size_t b = all.rows * p / parts;
      NormRowsBackward<T> part = all;
      part.grad += b * w;
      part.x += b * w;
      part.stats += 2 * b;
      part.dx += b * w;
      part.dgain = dgain ? sums.data() + p * 2 * w : nullptr;
      part.dbias = dbias ? sums.data() + p * 2 * w + w : nullptr;
      part.rows = all.rows * (p + 1) / parts - b;
      table().of<T>().layer_norm_backward(part);
    }
  });
  for (std::size_t p = 1; p < parts; ++p)
    table().f32.add(sums.data() + p * 2 * w, sums.data(), 2 * w);
  if (dgain) table().of<T>().add_f32(sums.data(), dgain, w);
  if (dbias) table().of<T>().add_f32(sums.data() + w, dbias, w);
}

}  // namespace

void run_op(const LayerNormBackward& o, int threads) {
  const Operands is("layer_norm_backward");
  const std::size_t w = o.width, rows = is.rows("x", o.x, w);
  with_type(is, "x", o.x, [&]<class T>() {
    NormRowsBackward<T> all{.grad = is.in<T>("grad", o.grad, rows * w),
                            .x = is.in<T>("x", o.x, rows * w),
                            .gain = is.in<T>("gain", o.gain, w),
                            .stats = is.in<float>("stats", o.stats, 2 * rows),
                            .dx = is.out<T>("dx", o.dx, rows * w),
                            .dgain = nullptr,
                            .dbias = nullptr,
                            .rows = rows,
                            .width = w};
    T* dgain = is.maybe_out<T>("dgain", o.dgain, w);
    T* dbias = is.maybe_out<T>("dbias", o.dbias, w);
    if constexpr (std::is_same_v<T, float>) {
      if (threads == 1) {  // nothing to gather, and nothing to round
        all.dgain = dgain;
        all.dbias = dbias;
        return table().f32.layer_norm_backward(all);
      }
    }
    backward_in_parts(all, dgain, dbias, threads);
  });
}

void run_op(const RmsNorm& o, int threads) {
  const Operands is("rms_norm");
  const std::size_t w = o.width, rows = is.rows("x", o.x, w);
  with_type(is, "x", o.x, [&]<class T>() {
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
  });
}

void run_op(const RmsNormBackward& o, int threads) {
  const Operands is("rms_norm_backward");
  const std::size_t w = o.width, rows = is.rows("x", o.x, w);
  with_type(is, "x", o.x, [&]<class T>() {
    const RmsNormRowsBackward<T> all{.grad = is.in<T>("grad", o.grad, rows * w),
                                     .x = is.in<T>("x", o.x, rows * w),
                                     .gain = is.in<T>("gain", o.gain, w),
                                     .stats = is.in<float>("stats", o.stats, rows),
                                     .dx = is.out<T>("dx", o.dx, rows * w),
                                     .dgain = nullptr,
                                     .rows = rows,
                                     .width = w};
    T* dgain = is.maybe_out<T>("dgain", o.dgain, w);
    // Parts as in layer_norm_backward.
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
  });
}

}  // namespace shardmark::cpu
