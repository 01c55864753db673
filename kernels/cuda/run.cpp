#include "run.hpp"

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/ops.hpp"

namespace shardmark::cuda {

namespace {
struct Runner {
  const Launch& with;
  void operator()(const Transfer&) const {
    throw Error("a transfer was given to the GPU's arithmetic, but only a communicator can run it");
  }
  template <class O>
  void operator()(const O& o) const {
    run_op(o, with);
  }
};
}  // namespace

void run(const Op& op, const Launch& with) { std::visit(Runner{with}, op); }

std::size_t scratch_bytes(const Op& op, const Launch& with) {
  return std::visit(
      [&with](const auto& o) -> std::size_t {
        if constexpr (requires { o.scratch; }) return scratch_of(o, with);
        return 0;
      },
      op);
}

std::size_t scratch_bytes(const Op& op, const Gpu& gpu) {
  Launch on;
  on.major = gpu.major;
  on.multiprocessors = gpu.multiprocessors;
  return scratch_bytes(op, on);
}

}  // namespace shardmark::cuda
