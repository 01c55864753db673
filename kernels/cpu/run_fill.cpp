// How does a parameter get its first values? As a function of (seed, stream, element) alone, in
// whole numbers up to the last multiplication, so that a rank can fill its part without the rest,
// and every machine gets the same.
#include <cmath>

#include "checks.hpp"
#include "kernels/counter_random.hpp"
#include "parallel.hpp"
#include "run.hpp"

namespace shardmark::cpu {

namespace {

// The sum of four 16-bit uniforms, its mean removed: |.| < 2^17, exact in float.
float centred_sum(std::uint64_t random) {
  const std::uint64_t sum =
      (random & 0xffff) + (random >> 16 & 0xffff) + (random >> 32 & 0xffff) + (random >> 48);
  return static_cast<float>(static_cast<std::int64_t>(sum) - 2 * 0xffff);
}

}  // namespace

void run_op(const Fill& o, int threads) {
  const Operands is("fill");
  float* to = is.out<float>("to", o.to, o.to.size());
  if (o.init.kind == Init::Kind::constant) {
    parallel_for(threads, o.to.size(), 1024,
                 [&](std::size_t b, std::size_t e) { std::fill(to + b, to + e, o.init.scale); });
    return;
  }
  // One uniform over 0 .. 2^16 - 1 has variance (2^32 - 1) / 12, and there are four.
  const double deviation = std::sqrt(4.0 * (4294967296.0 - 1.0) / 12.0);
  const float factor = static_cast<float>(static_cast<double>(o.init.scale) / deviation);
  const std::uint64_t key = scramble(scramble(o.seed + golden) + o.stream * golden + golden);
  parallel_for(threads, o.to.size(), 1024, [&](std::size_t b, std::size_t e) {
    for (std::size_t i = b; i < e; ++i)
      to[i] = centred_sum(scramble(key + (o.offset + i) * golden)) * factor;
  });
}

}  // namespace shardmark::cpu
