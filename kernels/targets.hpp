#pragma once
// On what do the tests of ops run, and where do their operands live then? On every instruction set
// of this machine and on every GPU, the stand-in's where the test is linked with it: the same test,
// with the same reference.
#include <cstdlib>
#include <memory>

#include "kernels/cpu/math.hpp"
#include "kernels/cuda/device.hpp"

namespace shardmark::testing {

// The GPU that ops run on; none: the processor, by the instruction set in use.
inline std::optional<int>& gpu_in_use() {
  static std::optional<int> gpu;
  return gpu;
}
inline bool on_gpu() { return gpu_in_use().has_value(); }
inline Space space_in_use() { return on_gpu() ? Space::device : Space::host; }

// Names for use(): "avx512", ..., "gpu0", ...
inline std::vector<std::string> targets() {
  std::vector<std::string> all;
#if !defined(SHARDMARK_GPUS_ALONE)
  all = cpu::instruction_sets();
#endif
  for (std::size_t i = 0; i < cuda::gpus().size(); ++i) all.push_back("gpu" + std::to_string(i));
  return all;
}
inline void use(const std::string& target) {
  gpu_in_use().reset();
  if (target.starts_with("gpu"))
    gpu_in_use() = std::stoi(target.substr(3));
  else
    cpu::use_instruction_set(target);
}

// Which the test and the target can both write.
inline std::shared_ptr<void> memory_in_use(std::size_t bytes) {
  if (on_gpu()) return cuda::managed_bytes(bytes);
  return {std::malloc(bytes + 1), [](void* p) { std::free(p); }};
}

// When it returns, the op is done. threads: of the processor.
inline void run(const Op& op, int threads = 1) {
  if (on_gpu())
    cuda::run_here(op, *gpu_in_use());
  else
    cpu::run(op, threads);
}
inline std::size_t scratch_bytes(const Op& op, int threads = 1) {
  return on_gpu()
             ? cuda::scratch_bytes(op, cuda::gpus().at(static_cast<std::size_t>(*gpu_in_use())))
             : cpu::scratch_bytes(op, threads);
}
// Numbers of threads that are worth a try: they are all one to a GPU.
inline std::vector<int> counts(std::vector<int> of_processor) {
  return on_gpu() ? std::vector<int>{1} : of_processor;
}

}  // namespace shardmark::testing
