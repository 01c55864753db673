// How does a parameter get its first values? As a function of (seed, stream, element) alone, in
// whole numbers up to the last multiplication, so that a rank can fill its part without the rest,
// and every machine gets the same.
#include <array>
#include <cmath>

#include "checks.hpp"
#include "kernels/counter_random.hpp"
#include "parallel.hpp"
#include "run.hpp"
#include "table.hpp"

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
  // One uniform over 0 .. 2^16 - 1 has variance (2^32 - 1) / 12, and there are four.
  const double deviation = std::sqrt(4.0 * (4294967296.0 - 1.0) / 12.0);
  const float factor = static_cast<float>(static_cast<double>(o.init.scale) / deviation);
  const std::uint64_t key = scramble(scramble(o.seed + golden) + o.stream * golden + golden);
  const auto value = [&](std::size_t i) {
    if (o.init.kind == Init::Kind::constant) return o.init.scale;
    return centred_sum(scramble(key + (o.offset + i) * golden)) * factor;
  };
  with_type(is, "to", o.to, [&]<class T>() {
    T* to = is.out<T>("to", o.to, o.to.size());
    const auto rounded = table().f32.to<T>();
    constexpr std::size_t at_once = 1024;
    parallel_for(threads, o.to.size(), at_once, [&](std::size_t b, std::size_t e) {
      std::array<float, at_once> values;
      for (; b < e; b += at_once) {
        const std::size_t count = std::min(at_once, e - b);
        for (std::size_t i = 0; i < count; ++i) values[i] = value(b + i);
        rounded(values.data(), to + b, count);
      }
    });
  });
}

}  // namespace shardmark::cpu
