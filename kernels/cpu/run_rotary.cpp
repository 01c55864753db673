// How far does each pair of a head turn at each position, and how are the rows shared among
// threads? Angles are computed in double, so that they are as exact at the last position as at the
// first.
#include <cmath>
#include <numbers>

#include "kernels/operands.hpp"
#include "parallel.hpp"
#include "run.hpp"
#include "table.hpp"

namespace shardmark::cpu {

namespace {

void check_head(const Operands& is, std::size_t head_dim) {
  is.not_zero("head_dim", head_dim);
  is.need(head_dim % 2 == 0, "head_dim is " + std::to_string(head_dim) +
                                 ", but its elements turn in pairs: it must be even");
}

// Of a frequency, in radians a position, what is left for texts longer than the model was made for.
double scaled(double frequency, const RotaryScaling& s) {
  if (s.original == 0) return frequency / s.factor;
  const double turns = static_cast<double>(s.original) * frequency / (2 * std::numbers::pi);
  if (turns < s.low) return frequency / s.factor;
  if (turns > s.high) return frequency;
  const double smooth = (turns - s.low) / (s.high - s.low);
  return frequency * ((1 - smooth) / s.factor + smooth);
}

template <class T>
void turn(const Operands& is, const Rotary& o, std::size_t rows, int threads) {
  T* x = is.out<T>("x", o.x, rows * o.stride);
  const float* angles = is.in<float>("table", o.table, o.sequence * o.head_dim);
  parallel_for(threads, rows, 1, [&](std::size_t b, std::size_t e) {
    table().of<T>().rotary({.x = x + b * o.stride,
                            .table = angles,
                            .rows = e - b,
                            .first = b,
                            .sequence = o.sequence,
                            .heads = o.heads,
                            .head_dim = o.head_dim,
                            .stride = o.stride,
                            .back = o.back});
  });
}

}  // namespace

void run_op(const RotaryTable& o, int) {
  const Operands is("rotary_table", Space::host);
  check_head(is, o.head_dim);
  is.need(o.theta > 0 && o.scaling.factor > 0, "theta and the scaling factor must be positive");
  is.need(o.scaling.original == 0 || o.scaling.low < o.scaling.high,
          "of the scaling, low must be less than high");
  const std::size_t sequence = is.rows("to", o.to, o.head_dim), half = o.head_dim / 2;
  float* to = is.out<float>("to", o.to, sequence * o.head_dim);
  for (std::size_t i = 0; i < half; ++i) {
    const double exponent = -2 * static_cast<double>(i) / static_cast<double>(o.head_dim);
    const double frequency = scaled(std::pow(o.theta, exponent), o.scaling);
    for (std::size_t t = 0; t < sequence; ++t) {
      const double angle = static_cast<double>(t) * frequency;
      to[t * o.head_dim + i] = static_cast<float>(std::cos(angle));
      to[t * o.head_dim + half + i] = static_cast<float>(std::sin(angle));
    }
  }
}

void run_op(const Rotary& o, int threads) {
  const Operands is("rotary", Space::host);
  check_head(is, o.head_dim);
  is.not_zero("sequence", o.sequence);
  is.not_zero("heads", o.heads);
  const std::size_t rows = is.rows("x", o.x, o.stride);
  is.need(o.heads * o.head_dim <= o.stride,
          std::to_string(o.heads) + " heads of " + std::to_string(o.head_dim) +
              " are longer than a row, which has " + std::to_string(o.stride) + " elements");
  with_type(is, "x", o.x, [&]<class T>() { turn<T>(is, o, rows, threads); });
}

}  // namespace shardmark::cpu
