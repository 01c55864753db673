// Do ops take memory that no ledger sees? Whatever an op needs beside its operands is scratch that
// it was given.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "kernels/guarded.hpp"

namespace {
std::atomic<std::size_t>& asked() {
  static std::atomic<std::size_t> times{0};
  return times;
}
}  // namespace

void* operator new(std::size_t bytes) {
  ++asked();
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace shardmark {
namespace {

using namespace testing;

template <class O>
void takes_nothing(O o, int threads) {
  const Guarded<std::uint8_t> scratch(cpu::scratch_bytes(o, threads));
  o.scratch = scratch;
  const Op op = o;
  const std::size_t before = asked();
  cpu::run(op, threads);
  EXPECT_EQ(asked() - before, 0u) << name(op) << " with " << threads << " threads";
}

TEST(Heap, IsNotTakenByOps) {
  in_every_type([]<class T>() {
    constexpr std::size_t rows = 9, w = 40, sequence = 3;
    const Guarded<T> x(random_values(rows * w, 1)), grad(random_values(rows * w, 2)),
        gain(random_values(w, 3)), dx(rows * w), dgain(w), dbias(w), table(5 * w),
        positions(sequence * w);
    const Guarded<float> stats(random_values(2 * rows, 4)), lse(rows);
    const Guarded<std::int32_t> tokens(Values{0, 1, 4, 4, 4, 0, 2, 4, 1});
    for (const int threads : {1, 3}) {
      takes_nothing(LayerNormBackward{grad, x, gain, stats, dx, dgain, dbias, w, {}}, threads);
      const View rms = stats.view().slice({0, rows});
      takes_nothing(RmsNormBackward{grad, x, gain, rms, dx, dgain, w, {}}, threads);
      takes_nothing(EmbedBackward{tokens.view(), grad, table, positions, w, sequence, {}}, threads);
    }
  });
}

// Without it, an op says so.
TEST(Heap, ScratchIsAskedFor) {
  constexpr std::size_t rows = 2, w = 3;
  const Guarded<float> x(rows * w), gain(w), stats(2 * rows), rms(rows), dx(rows * w), table(w);
  const Guarded<std::int32_t> tokens(rows);
  EXPECT_THROW(cpu::run(LayerNormBackward{x, x, gain, stats, dx, gain, gain, w, {}}, 3), Error);
  EXPECT_THROW(cpu::run(RmsNormBackward{x, x, gain, rms, dx, gain, w, {}}, 3), Error);
  EXPECT_THROW(cpu::run(EmbedBackward{tokens, x, table, {}, w, 0, {}}, 1), Error);
}

}  // namespace
}  // namespace shardmark
