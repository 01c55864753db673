// How is a product computed in a build without oneDNN? By our own tiles, on the calling thread.
#include "math.hpp"
#include "run.hpp"
#include "table.hpp"

namespace shardmark::cpu {

std::size_t scratch_of(const Matmul&, int) { return 0; }
std::string matrix_library() { return "plain"; }

void multiply(const Matmul& o, int) {
  table().product({.a = o.a.host<float>().data(),
                   .b = o.b.host<float>().data(),
                   .bias = o.bias ? o.bias.host<float>().data() : nullptr,
                   .c = o.c.host<float>().data(),
                   .m = o.m,
                   .n = o.n,
                   .k = o.k,
                   .ta = o.ta,
                   .tb = o.tb,
                   .adds = o.adds});
}

}  // namespace shardmark::cpu
