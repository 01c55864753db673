// How is a product shared among threads where our own tiles compute it? By rows of c.
#include "kernels/operands.hpp"
#include "parallel.hpp"
#include "run.hpp"
#include "table.hpp"

namespace shardmark::cpu {

void multiply_by_tiles(const Matmul& o, int threads) {
  with_type(Operands("matmul", Space::host), "a", o.a, [&]<class T>() {
    const auto optional = [](ConstView v) { return v ? v.host<T>().data() : nullptr; };
    const Product<T> all{.a = o.a.host<T>().data(),
                         .b = o.b.host<T>().data(),
                         .bias = optional(o.bias),
                         .residual = optional(o.residual),
                         .c = o.c.host<T>().data(),
                         .m = o.m,
                         .n = o.n,
                         .k = o.k,
                         .ta = o.ta,
                         .tb = o.tb,
                         .adds = o.adds,
                         .begin = 0,
                         .end = o.m};
    parallel_for(threads, o.m, 64, [&](std::size_t b, std::size_t e) {
      Product<T> part = all;
      part.begin = b;
      part.end = e;
      table().of<T>().product(part);
    });
  });
}

}  // namespace shardmark::cpu
