// What happens when an op arrives? It is checked, and given to the kernels of the instruction set
// in use.
#include "run.hpp"

#include "kernels/product_operands.hpp"
#include "math.hpp"

namespace shardmark::cpu {

void run(const Op& op, int threads) {
  if (threads < 1)  // the sentence is made where it is needed alone
    throw Error("an op was given " + std::to_string(threads) + " threads, but it needs at least 1");
  std::visit([threads](const auto& o) { run_op(o, threads); }, op);
}

std::size_t scratch_bytes(const Op& op, int threads) {
  return std::visit(
      [threads](const auto& o) -> std::size_t {
        if constexpr (requires { o.scratch; }) return scratch_of(o, threads);
        return 0;
      },
      op);
}

void run_op(const Transfer&, int) {
  throw Error(
      "a transfer was given to the processor's arithmetic, but only a communicator can run it");
}

void run_op(const Matmul& o, int threads) {
  const Operands is("matmul", Space::host);
  check_product(is, o);
  is.scratch(o.scratch, scratch_of(o, threads));
  multiply(o, threads);
}

}  // namespace shardmark::cpu
