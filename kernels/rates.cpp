// How fast could this machine be? Every figure comes from running it now.
#include "rates.hpp"

#include <algorithm>
#include <barrier>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "cpu/block.hpp"
#include "cpu/math.hpp"
#include "profilers/timeline.hpp"

namespace shardmark {

namespace {

using cpu::Block;

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

constexpr double second_ns = 1e9;

}  // namespace

double streaming_rate(int threads) {
  require(threads >= 1, "a streaming rate needs at least 1 thread");
  constexpr std::size_t total = std::size_t{320} << 20;
  constexpr int rounds = 5;
  const std::size_t each =
      total / 2 / static_cast<std::size_t>(threads) / 64 * 64;  // bytes a thread reads a round
  // From the first thread's begin to the last one's end: where they share cores, they take turns.
  const auto counts = static_cast<std::size_t>(threads) * rounds;
  std::vector<std::int64_t> begins(counts), ends(counts);
  std::barrier start(threads);
  const auto work = [&](int who) {
    const Block from(each, DType::u8), to(each, DType::u8);
    for (std::size_t r = 0; r < rounds; ++r) {
      const std::size_t at = r * static_cast<std::size_t>(threads) + static_cast<std::size_t>(who);
      start.arrive_and_wait();
      begins[at] = now_ns();
      cpu::stream_copy(from.view(), to.view());
      ends[at] = now_ns();
    }
  };
  std::vector<std::jthread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work, t);
  work(0);
  others.clear();
  std::vector<double> rates;
  for (std::size_t r = 0; r < rounds; ++r) {
    const double bytes = 2.0 * static_cast<double>(each) * threads;
    const auto from = static_cast<std::ptrdiff_t>(r) * threads;
    const std::int64_t begin =
        *std::min_element(begins.begin() + from, begins.begin() + from + threads);
    const std::int64_t end = *std::max_element(ends.begin() + from, ends.begin() + from + threads);
    rates.push_back(bytes / static_cast<double>(end - begin) * second_ns);
  }
  return median(rates);
}

double memcpy_rate(std::size_t bytes) {
  require(bytes >= 1, "a memcpy rate needs at least 1 byte");
  const Block from(bytes, DType::u8), to(bytes, DType::u8);
  const int inner = static_cast<int>(std::max<std::size_t>(1, (std::size_t{4} << 20) / bytes));
  std::vector<double> rates;
  for (int round = 0; round < 9; ++round) {
    const std::int64_t t0 = now_ns();
    for (int i = 0; i < inner; ++i) {
      std::memcpy(reinterpret_cast<void*>(to.view().address()),
                  reinterpret_cast<void*>(from.view().address()), bytes);
      asm volatile("" ::: "memory");  // each copy happens
    }
    rates.push_back(static_cast<double>(bytes) * inner / static_cast<double>(now_ns() - t0) *
                    second_ns);
  }
  return median(rates);
}

double product_ns(const Matmul& shape, int threads) {
  Matmul o = shape;
  const DType type = shape.a.dtype();
  const Block a(o.m * o.k, type), b(o.k * o.n, type), c(o.m * o.n, type), bias(o.n, type),
      residual(shape.residual ? o.m * o.n : 1, type);
  o.a = a.view();
  o.b = b.view();
  o.c = c.view();
  if (shape.bias) o.bias = bias.view();
  if (shape.residual) o.residual = residual.view();
  const Block scratch(std::max<std::size_t>(1, cpu::scratch_bytes(o, threads)), DType::u8);
  o.scratch = scratch.view();
  // Not zeros: some machines are faster at them.
  for (const View& v : {a.view(), b.view()}) {
    cpu::run(Fill{v, {Init::Kind::bell, 1.0f}, 1, 0, 0}, threads);
  }
  cpu::run(o, threads);
  std::int64_t best = std::numeric_limits<std::int64_t>::max(), spent = 0;
  for (int i = 0; i < 200 && (i < 5 || spent < 15'000'000); ++i) {
    const std::int64_t t0 = now_ns();
    cpu::run(o, threads);
    const std::int64_t took = now_ns() - t0;
    best = std::min(best, took);
    spent += took;
  }
  return static_cast<double>(best);
}

double matrix_rate(int threads, DType type) {
  Matmul o;
  o.a = ConstView(0, 0, type, Space::nowhere);
  o.m = 512;
  o.n = o.k = 1024;
  return 2.0 * 512 * 1024 * 1024 / product_ns(o, threads) * second_ns;
}

}  // namespace shardmark
