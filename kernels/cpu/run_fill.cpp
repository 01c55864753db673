// How does a parameter get its first values? As a function of (seed, stream, element) alone, in
// whole numbers up to the last multiplication, so that a rank can fill its part without the rest,
// and every machine gets the same.
#include <array>

#include "kernels/elements.hpp"
#include "kernels/operands.hpp"
#include "parallel.hpp"
#include "run.hpp"
#include "table.hpp"

namespace shardmark::cpu {

void run_op(const Fill& o, int threads) {
  const Operands is("fill", Space::host);
  const FirstValues value(o);
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
