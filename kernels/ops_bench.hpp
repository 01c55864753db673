#pragma once
// What do the benchmarks of ops share? Filled memory, and a main function that says what machine
// this is.
#include <benchmark/benchmark.h>

#include "kernels/cpu/block.hpp"
#include "kernels/cpu/math.hpp"
#include "kernels/op.hpp"

namespace shardmark {

// Filled, and usable wherever a view is.
class Block : public cpu::Block {
 public:
  explicit Block(std::size_t size, DType dtype = DType::f32) : cpu::Block(size, dtype) {
    if (dtype == DType::f32 || dtype == DType::bf16)
      cpu::run(Fill{view(), {Init::Kind::bell, 0.5f}, 1, 0, 0}, 1);
  }
  operator View() const { return view(); }
  operator ConstView() const { return view(); }
};

inline int run_benchmarks(int argc, char** argv, void (*register_all)()) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("instruction_set", cpu::instruction_set());
  benchmark::AddCustomContext("matrix_library", cpu::matrix_library());
  register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace shardmark
