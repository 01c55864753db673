#pragma once
// What do benchmarks on a GPU need? A stream with a library, filled memory, and two things timed in
// turns, so that noise and clocks meet both.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/matmul.hpp"
#include "kernels/cuda/runtime.hpp"

namespace shardmark::cuda {

struct Memory {
  explicit Memory(std::size_t bytes) { check(cudaMalloc(&at, bytes), "memory for a benchmark"); }
  ~Memory() { cudaFree(at); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* at = nullptr;
};

// A GPU, a stream and a library, and what is timed on them.
class Bench {
 public:
  // times: calls between two events, which tell half a microsecond.
  Bench(const Gpu& gpu, int times) : times_(times) {
    on_.stream = stream_.get();
    on_.blas = &blas_;
    on_.major = gpu.major;
    on_.multiprocessors = gpu.multiprocessors;
    on_.partials = partials_.get();
  }
  Launch& on() { return on_; }
  Blas& blas() { return blas_; }
  cudaStream_t stream() const { return stream_.get(); }
  void run(const Op& op) { cuda::run(op, on_); }
  // Seconds of one call.
  double seconds(const std::function<void()>& f) {
    begin_.record(stream());
    for (int i = 0; i < times_; ++i) f();
    end_.record(stream());
    check(cudaStreamSynchronize(stream()), "a benchmark");
    return static_cast<double>(end_.ns_since(begin_)) * 1e-9 / times_;
  }

 private:
  int times_;
  Stream stream_;
  Blas blas_;
  Partials partials_;
  Launch on_;
  Moment begin_{true}, end_{true};
};

// Filled as weights start.
class Block {
 public:
  Block(Bench& bench, std::size_t size, DType type)
      : memory_(std::max<std::size_t>(1, size * size_of(type))),
        view_(reinterpret_cast<std::uintptr_t>(memory_.at), size, type, Space::device) {
    if (size == 0) return;
    if (type == DType::u8)
      bench.run(Clear{view_});
    else
      bench.run(Fill{view_, {Init::Kind::bell, 0.5f}, 1, 0, 0});
  }
  operator View() const { return view_; }
  operator ConstView() const { return view_; }
  void* at() const { return memory_.at; }

 private:
  Memory memory_;
  View view_;
};

inline double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}
inline benchmark::Counter figure(double x) {
  return {x, benchmark::Counter::kDefaults, benchmark::Counter::kIs1000};
}

// f takes turns with `other`; amount: what one call of f does, `of_other`: the share of what it
// would reach at the other's speed, the median over the pairs.
inline void time_pairs(benchmark::State& state, Bench& bench, const char* rate, double amount,
                       const char* share, const std::function<void()>& f,
                       const std::function<void()>& other) {
  bench.seconds(f);
  if (other) bench.seconds(other);
  std::vector<double> rates, shares;
  for (auto _ : state) {
    const double s = bench.seconds(f);
    if (other) shares.push_back(bench.seconds(other) / s);
    rates.push_back(amount / s);
    state.SetIterationTime(s);
  }
  state.counters[rate] = figure(median(rates));
  if (other) state.counters[share] = median(shares);
}

}  // namespace shardmark::cuda
