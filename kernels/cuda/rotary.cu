// How far does each pair of a head turn at each position? The table's angles are computed in double;
// rows are turned in one pass.
#include <cmath>

#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/packs.cuh"
#include "kernels/operands.hpp"
#include "kernels/rotary.hpp"

namespace shardmark::cuda {
namespace {

__global__ void __launch_bounds__(256)
    rotary_table(float* to, std::size_t sequence, std::size_t half, double theta,
                 RotaryScaling scaling) {
  const std::size_t i = blockIdx.x * std::size_t{256} + threadIdx.x, t = i / half, pair = i % half;
  if (t >= sequence) return;
  const double exponent = -static_cast<double>(pair) / static_cast<double>(half);
  const double angle = static_cast<double>(t) * scaled_frequency(pow(theta, exponent), scaling);
  to[t * 2 * half + pair] = static_cast<float>(cos(angle));
  to[t * 2 * half + half + pair] = static_cast<float>(sin(angle));
}

template <class T>
struct Turning {
  T* x;
  const float* table;
  std::size_t sequence, heads, head_dim, stride;
  float direction;
};

// A block has a row.
template <class T, int n>
__global__ void __launch_bounds__(256) turn(Turning<T> a) {
  const std::size_t row = blockIdx.x;
  const auto half = static_cast<unsigned>(a.head_dim / 2), packs = half / n,
             all = static_cast<unsigned>(a.heads) * packs;
  const float* cosines = a.table + row % a.sequence * a.head_dim;
  for (unsigned p = threadIdx.x; p < all; p += blockDim.x) {
    const unsigned i = p % packs * n;
    T* x = a.x + row * a.stride + p / packs * a.head_dim + i;
    const Floats<n> c = load<n>(cosines + i), s = load<n>(cosines + half + i), first = load<n>(x),
                    second = load<n>(x + half);
    store<n>(x, each_of<n>([&](int j) {
               return first.at[j] * c.at[j] - second.at[j] * (s.at[j] * a.direction);
             }));
    store<n>(x + half, each_of<n>([&](int j) {
               return first.at[j] * (s.at[j] * a.direction) + second.at[j] * c.at[j];
             }));
  }
}

}  // namespace

void run_op(const RotaryTable& o, const Launch& with) {
  const Operands is("rotary_table", Space::device);
  const std::size_t sequence = rows_of_table(is, o), half = o.head_dim / 2;
  float* to = is.out<float>("to", o.to, sequence * o.head_dim);
  launch(rotary_table, static_cast<unsigned>((sequence * half + 255) / 256), 256, 0, with.stream,
         to, sequence, half, o.theta, o.scaling);
}

void run_op(const Rotary& o, const Launch& with) {
  const Operands is("rotary", Space::device);
  const std::size_t rows = rows_to_turn(is, o);
  with_type(is, "x", o.x, [&]<class T>() {
    const Turning<T> a{is.out<T>("x", o.x, rows * o.stride),
                       is.in<float>("table", o.table, o.sequence * o.head_dim),
                       o.sequence,
                       o.heads,
                       o.head_dim,
                       o.stride,
                       o.back ? -1.0f : 1.0f};
    constexpr int n = width_of<T>;
    const bool packs =
        rows_fit<n>(a.x, o.stride) && rows_fit<n>(a.table, o.head_dim) && o.head_dim / 2 % n == 0;
    const std::size_t pairs = o.heads * o.head_dim / 2;
    launch(packs ? turn<T, n> : turn<T, 1>, static_cast<unsigned>(rows),
           threads_for(packs ? pairs / n : pairs), 0, with.stream, a);
  });
}

}  // namespace shardmark::cuda
