// How far does each pair of a head turn at each position, and how are the rows shared among
// threads? Angles are computed in double, so that they are as exact at the last position as at the
// first.
#include <cmath>

#include "kernels/rotary.hpp"
#include "parallel.hpp"
#include "run.hpp"
#include "table.hpp"

namespace shardmark::cpu {

namespace {

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
  const std::size_t sequence = rows_of_table(is, o), half = o.head_dim / 2;
  float* to = is.out<float>("to", o.to, sequence * o.head_dim);
  for (std::size_t i = 0; i < half; ++i) {
    const double exponent = -2 * static_cast<double>(i) / static_cast<double>(o.head_dim);
    const double frequency = scaled_frequency(std::pow(o.theta, exponent), o.scaling);
    for (std::size_t t = 0; t < sequence; ++t) {
      const double angle = static_cast<double>(t) * frequency;
      to[t * o.head_dim + i] = static_cast<float>(std::cos(angle));
      to[t * o.head_dim + half + i] = static_cast<float>(std::sin(angle));
    }
  }
}

void run_op(const Rotary& o, int threads) {
  const Operands is("rotary", Space::host);
  const std::size_t rows = rows_to_turn(is, o);
  with_type(is, "x", o.x, [&]<class T>() { turn<T>(is, o, rows, threads); });
}

}  // namespace shardmark::cpu
