// What happens when an op arrives? It is checked, and given to the kernels of the instruction set
// in use.
#include "run.hpp"

#include "checks.hpp"
#include "math.hpp"
#include "parallel.hpp"
#include "table.hpp"

namespace shardmark::cpu {

void run(const Op& op, int threads) {
  require(threads >= 1,
          "an op was given " + std::to_string(threads) + " threads, but it needs at least 1");
  std::visit([threads](const auto& o) { run_op(o, threads); }, op);
}

std::size_t scratch_bytes(const Op& op, int threads) {
  if (const auto* product = std::get_if<Matmul>(&op)) return scratch_of(*product, threads);
  if (const auto* o = std::get_if<AttentionBackward>(&op)) return scratch_of(*o, threads);
  return 0;
}

void run_op(const Transfer&, int) {
  throw Error(
      "a transfer was given to the processor's arithmetic, but only a communicator can run it");
}

void run_op(const Matmul& o, int threads) {
  const Operands is("matmul");
  is.not_zero("m", o.m);
  is.not_zero("n", o.n);
  is.not_zero("k", o.k);
  is.in<float>("a", o.a, o.m * o.k);
  is.in<float>("b", o.b, o.k * o.n);
  float* c = is.out<float>("c", o.c, o.m * o.n);
  is.maybe_in<float>("bias", o.bias, o.n);
  const float* residual = is.maybe_in<float>("residual", o.residual, o.m * o.n);
  is.scratch(o.scratch, scratch_of(o, threads));
  multiply(o, threads);
  // A pass of its own: oneDNN's, after the product, takes several times as long.
  if (residual) {
    parallel_for(threads, o.m * o.n, 1024, [&](std::size_t b, std::size_t e) {
      table().f32.add(residual + b, c + b, e - b);
    });
  }
}

}  // namespace shardmark::cpu
