// What are models made of, beside matrix products? Rows looked up, normalised, bent, attended and
// compared. Here shapes are checked and work is shared among threads; the arithmetic is in the
// kernels.
#include <cstring>
#include <vector>

#include "checks.hpp"
#include "parallel.hpp"
#include "run.hpp"
#include "table.hpp"

namespace shardmark::cpu {

namespace {

constexpr std::size_t line = 16;  // floats: threads never share one

// Tokens are input: one out of range would read or write somewhere else.
const std::int32_t* tokens_in(const Operands& is, const char* name, ConstView v, std::size_t rows,
                              std::size_t below) {
  const std::int32_t* t = is.in<std::int32_t>(name, v, rows);
  for (std::size_t r = 0; r < rows; ++r) {
    if (t[r] < 0 || static_cast<std::size_t>(t[r]) >= below) {
      is.fail(std::string(name) + "[" + std::to_string(r) + "] is " + std::to_string(t[r]) +
              ", but it must be 0 to " + std::to_string(below - 1));
    }
  }
  return t;
}

}  // namespace

void run_op(const ColumnSum& o, int threads) {
  const Operands is("column_sum");
  const std::size_t columns = o.total.size(), rows = is.rows("x", o.x, columns);
  const float* x = is.in<float>("x", o.x, rows * columns);
  float* total = is.out<float>("total", o.total, columns);
  parallel_for(threads, columns, line, [&](std::size_t b, std::size_t e) {
    table().column_sum(x, total, rows, columns, b, e);
  });
}

void run_op(const Embed& o, int threads) {
  const Operands is("embed");
  const std::size_t w = o.width, rows = is.rows("out", o.out, w),
                    vocabulary = is.rows("table", o.table, w);
  is.not_zero("sequence", o.sequence);
  const std::int32_t* tokens = tokens_in(is, "tokens", o.tokens, rows, vocabulary);
  const float* from = is.in<float>("table", o.table, vocabulary * w);
  const float* positions = is.in<float>("positions", o.positions, o.sequence * w);
  float* out = is.out<float>("out", o.out, rows * w);
  parallel_for(threads, rows, 1, [&](std::size_t b, std::size_t e) {
    for (std::size_t r = b; r < e; ++r) {
      std::memcpy(out + r * w, from + static_cast<std::size_t>(tokens[r]) * w, w * sizeof(float));
      table().f32.add(positions + r % o.sequence * w, out + r * w, w);
    }
  });
}

void run_op(const EmbedBackward& o, int) {
  const Operands is("embed_backward");
  const std::size_t w = o.width, rows = is.rows("grad", o.grad, w);
  const float* grad = is.in<float>("grad", o.grad, rows * w);
  if (o.table) {
    const std::size_t vocabulary = is.rows("table", o.table, w);
    const std::int32_t* tokens = tokens_in(is, "tokens", o.tokens, rows, vocabulary);
    float* to = is.out<float>("table", o.table, vocabulary * w);
    for (std::size_t r = 0; r < rows; ++r)
      table().f32.add(grad + r * w, to + static_cast<std::size_t>(tokens[r]) * w, w);
  }
  if (o.positions) {
    is.not_zero("sequence", o.sequence);
    float* to = is.out<float>("positions", o.positions, o.sequence * w);
    for (std::size_t r = 0; r < rows; ++r)
      table().f32.add(grad + r * w, to + r % o.sequence * w, w);
  }
}

void run_op(const OneHot& o, int threads) {
  const Operands is("one_hot");
  const std::size_t w = o.width, rows = is.rows("out", o.out, w);
  is.not_zero("sequence", o.sequence);
  const std::int32_t* tokens = tokens_in(is, "tokens", o.tokens, rows, 256);
  float* out = is.out<float>("out", o.out, rows * w);
  parallel_for(threads, rows, 1, [&](std::size_t b, std::size_t e) {
    std::memset(out + b * w, 0, (e - b) * w * sizeof(float));
    for (std::size_t r = b; r < e; ++r) {
      const std::size_t seen = std::min(o.context, r % o.sequence + 1);
      for (std::size_t j = 0; j < seen; ++j)
        out[r * w + (j * 256 + static_cast<std::size_t>(tokens[r - j])) % w] += 1;
    }
  });
}

void run_op(const LayerNorm& o, int threads) {
  const Operands is("layer_norm");
  const std::size_t w = o.width, rows = is.rows("x", o.x, w);
  const NormRows all{.x = is.in<float>("x", o.x, rows * w),
                     .gain = is.in<float>("gain", o.gain, w),
                     .bias = is.in<float>("bias", o.bias, w),
                     .out = is.out<float>("out", o.out, rows * w),
                     .stats = is.out<float>("stats", o.stats, 2 * rows),
                     .rows = rows,
                     .width = w};
  parallel_for(threads, rows, 1, [&](std::size_t b, std::size_t e) {
    NormRows part = all;
    part.x += b * w;
    part.out += b * w;
    part.stats += 2 * b;
    part.rows = e - b;
    table().layer_norm(part);
  });
}

void run_op(const LayerNormBackward& o, int threads) {
  const Operands is("layer_norm_backward");
  const std::size_t w = o.width, rows = is.rows("x", o.x, w);
  const NormRowsBackward all{.grad = is.in<float>("grad", o.grad, rows * w),
                             .x = is.in<float>("x", o.x, rows * w),
                             .gain = is.in<float>("gain", o.gain, w),
                             .stats = is.in<float>("stats", o.stats, 2 * rows),
                             .dx = is.out<float>("dx", o.dx, rows * w),
                             .dgain = is.maybe_out<float>("dgain", o.dgain, w),
                             .dbias = is.maybe_out<float>("dbias", o.dbias, w),
                             .rows = rows,
                             .width = w};
  if (threads == 1) return table().layer_norm_backward(all);
  // Several threads sum dgain and dbias each for itself; then the parts are added in their order.
  const std::size_t parts = std::min(static_cast<std::size_t>(threads), rows);
  std::vector<float> sums(parts * 2 * w);
  parallel_for(threads, parts, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      const std::size_t b = rows * p / parts;
      NormRowsBackward part = all;
      part.grad += b * w;
      part.x += b * w;
      part.stats += 2 * b;
      part.dx += b * w;
      if (part.dgain) part.dgain = sums.data() + p * 2 * w;
      if (part.dbias) part.dbias = sums.data() + p * 2 * w + w;
      part.rows = rows * (p + 1) / parts - b;
      table().layer_norm_backward(part);
    }
  });
  for (std::size_t p = 0; p < parts; ++p) {
    if (all.dgain) table().f32.add(sums.data() + p * 2 * w, all.dgain, w);
    if (all.dbias) table().f32.add(sums.data() + p * 2 * w + w, all.dbias, w);
  }
}

void run_op(const Gelu& o, int threads) {
  const Operands is("gelu");
  const float* x = is.in<float>("x", o.x, o.x.size());
  float* out = is.out<float>("out", o.out, o.x.size());
  parallel_for(threads, o.x.size(), line,
               [&](std::size_t b, std::size_t e) { table().gelu(x + b, out + b, e - b); });
}

void run_op(const GeluBackward& o, int threads) {
  const Operands is("gelu_backward");
  const std::size_t columns = o.columns, rows = is.rows("x", o.x, columns);
  const float* x = is.in<float>("x", o.x, rows * columns);
  float* grad = is.out<float>("grad", o.grad, rows * columns);
  float* bias = is.maybe_out<float>("bias_grad", o.bias_grad, columns);
  parallel_for(threads, columns, line, [&](std::size_t b, std::size_t e) {
    table().gelu_backward(x, grad, bias, rows, columns, b, e);
  });
}

}  // namespace shardmark::cpu
