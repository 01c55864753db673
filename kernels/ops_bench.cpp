// How fast is each op on this machine? Products and attention in FLOP/s and as a share of a large
// square product (of_matrix); ops that memory bounds in bytes/s and as a share of a streaming copy
// that takes turns with them (of_copy). Bytes: reads and writes of the operands, each once. All on
// one thread. Ops on rows that the caches hold: rows_bench.cpp.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "kernels/ops_bench.hpp"
#include "kernels/rates.hpp"
#include "profilers/timeline.hpp"

namespace shardmark {
namespace {

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}
benchmark::Counter figure(double x) {
  return {x, benchmark::Counter::kDefaults, benchmark::Counter::kIs1000};
}

// Times the op; its median against a large product, measured just before.
void time_flops(benchmark::State& state, const Op& op, double flops, DType type = DType::f32) {
  const double ceiling = matrix_rate(1, type);
  cpu::run(op, 1);
  std::vector<double> rates;
  for (auto _ : state) {
    const std::int64_t t0 = now_ns();
    cpu::run(op, 1);
    const double ns = static_cast<double>(now_ns() - t0);
    rates.push_back(flops / ns * 1e9);
    state.SetIterationTime(ns * 1e-9);
  }
  state.counters["FLOP/s"] = figure(median(rates));
  state.counters["of_matrix"] = median(rates) / ceiling;
}

void product(benchmark::State& state, std::size_t m, std::size_t n, std::size_t k, bool ta, bool tb,
             bool adds, DType type) {
  const Block a(m * k, type), b(k * n, type), c(m * n, type);
  Matmul o;
  o.a = a, o.b = b, o.c = c;
  o.m = m, o.n = n, o.k = k, o.ta = ta, o.tb = tb, o.adds = adds;
  const Block scratch(cpu::scratch_bytes(o, 1), DType::u8);
  o.scratch = scratch;
  time_flops(state, o, flops(o), type);
}

// The products of one transformer of this width: forward (x w), its dx (dy w^T) and its dw (x^T dy,
// adds).
void register_products(const std::string& model, std::size_t width, DType type) {
  struct Layer {
    const char* name;
    std::size_t in, out;
  };
  const Layer layers[] = {{"qkv", width, 3 * width},
                          {"proj", width, width},
                          {"up", width, 4 * width},
                          {"down", 4 * width, width},
                          {"head", width, 256}};
  constexpr std::size_t rows = 1024;  // 4 sequences of 256
  for (const Layer& l : layers) {
    const auto add = [&](const char* pass, std::size_t m, std::size_t n, std::size_t k, bool ta,
                         bool tb) {
      const std::string title =
          fmt::format("matmul/{}/{}/{}/{}/{}x{}x{}", model, name(type), l.name, pass, m, n, k);
      benchmark::RegisterBenchmark(title.c_str(), [=](benchmark::State& s) {
        product(s, m, n, k, ta, tb, ta, type);
      })->UseManualTime();
    };
    add("forward", rows, l.out, l.in, false, false);
    add("dx", rows, l.in, l.out, false, true);
    add("dw", l.in, l.out, rows, true, false);
  }
}

void attention(benchmark::State& state, bool backward, DType type) {
  constexpr std::size_t batch = 4, sequence = 256, rows = batch * sequence;
  const auto heads = static_cast<std::size_t>(state.range(0)),
             head_dim = static_cast<std::size_t>(state.range(1)), size = rows * heads * head_dim;
  const Block qkv(3 * size, type), out(size, type), lse(rows * heads), grad(size, type),
      dqkv(3 * size, type);
  const Attention forward{qkv, out, lse, batch, sequence, heads, heads, head_dim};
  AttentionBackward back{qkv, out, lse, grad, dqkv, batch, sequence, heads, heads, head_dim, {}};
  const Block scratch(cpu::scratch_bytes(back, 1), DType::u8);
  back.scratch = scratch;
  cpu::run(forward, 1);
  const Op op = backward ? Op(back) : Op(forward);
  time_flops(state, op, flops(op));
}

// Bytes of each operand of the ops below, and how many sets of operands take turns: > 256 MiB in
// all.
std::size_t bytes_of(const benchmark::State& state) {
  return static_cast<std::size_t>(state.range(0)) << 20;
}
constexpr std::size_t most_copied = std::size_t{320} << 20;
std::size_t sets_for(std::size_t bytes_a_set) { return most_copied / bytes_a_set + 1; }

// Times `op(i)` on cold memory, each time followed by a streaming copy that moves as many bytes:
// noise meets both. The share is the median over the pairs.
void time_bytes(benchmark::State& state, double bytes, const std::function<void(std::size_t)>& op) {
  const std::size_t copied = static_cast<std::size_t>(bytes / 2) / 64 * 64,
                    copies = sets_for(2 * copied);
  static const Block from(most_copied, DType::u8), to(most_copied, DType::u8);
  std::vector<double> rates, shares;
  std::size_t i = 0;
  op(i++);
  for (auto _ : state) {
    const Range part{i % copies * copied % (most_copied - copied) / 64 * 64, copied};
    const std::int64_t t0 = now_ns();
    op(i);
    const std::int64_t t1 = now_ns();
    cpu::stream_copy(View(from).slice(part), View(to).slice(part));
    const double op_ns = static_cast<double>(t1 - t0), copy_ns = static_cast<double>(now_ns() - t1);
    rates.push_back(bytes / op_ns * 1e9);
    shares.push_back(bytes / op_ns / (2.0 * static_cast<double>(copied) / copy_ns));
    state.SetIterationTime(op_ns * 1e-9);
    ++i;
  }
  state.counters["bytes/s"] = figure(median(rates));
  state.counters["of_copy"] = median(shares);
}

std::vector<Block> blocks(std::size_t count, std::size_t elements, DType type = DType::f32) {
  std::vector<Block> b;
  for (std::size_t i = 0; i < count; ++i) b.emplace_back(elements, type);
  return b;
}

// n: so many elements that f32 weights have these bytes. In bf16 the weight is written beside its
// master.
void adamw(benchmark::State& state, DType type) {
  const bool narrow = type != DType::f32;
  const std::size_t n = bytes_of(state) / 4, sets = sets_for(16 * n);
  const auto weight = blocks(sets, n, type), master = blocks(sets, narrow ? n : 1),
             grad = blocks(sets, n, type), first = blocks(sets, n), second = blocks(sets, n);
  for (const Block& b : second) cpu::run(Clear{b}, 1);
  const Block control(control_slots);
  View(control).host<float>()[0] = 1;
  View(control).host<float>()[1] = 0;
  View(control).host<float>()[2] = 10;
  time_bytes(state, 28.0 * static_cast<double>(n), [&](std::size_t i) {  // in bf16, too
    const std::size_t s = i % sets;
    cpu::run(AdamW{weight[s],
                   narrow ? View(master[s]) : View(),
                   grad[s],
                   first[s],
                   second[s],
                   control,
                   {}},
             1);
  });
}

void sum_squares(benchmark::State& state, DType type) {
  const std::size_t bytes = bytes_of(state), n = bytes / size_of(type), sets = sets_for(bytes);
  const auto x = blocks(sets, n, type);
  const Block total(1, DType::f64);
  time_bytes(state, static_cast<double>(bytes), [&](std::size_t i) {
    cpu::run(SumSquares{x[i % sets], total}, 1);
  });
}

void stream_copy(benchmark::State& state) {
  const std::size_t n = bytes_of(state) / 4, sets = sets_for(8 * n);
  const auto from = blocks(sets, n), to = blocks(sets, n);
  time_bytes(state, 8.0 * static_cast<double>(n),
             [&](std::size_t i) { cpu::stream_copy(from[i % sets], to[i % sets]); });
}

// One rank's part of a reduction over `ranks` arrays: it reads one array's bytes and writes its
// N-th of them.
void reduce_ranks(benchmark::State& state, bool in_place, DType type) {
  const std::size_t size = size_of(type), n = bytes_of(state) / size,
                    ranks = static_cast<std::size_t>(state.range(1)), part = n / ranks;
  const std::size_t sets = sets_for(size * n);
  const auto arrays = blocks(sets, n, type), to = blocks(sets, part, type);
  time_bytes(state, static_cast<double>(size * (n + part)), [&](std::size_t i) {
    const View whole = arrays[i % sets];
    std::vector<ConstView> sources;
    for (std::size_t r = 0; r < ranks; ++r) sources.push_back(whole.slice({r * part, part}));
    cpu::reduce_ranks(sources, in_place ? whole.slice({0, part}) : View(to[i % sets]), 0.5);
  });
}

void register_all() {
  using benchmark::RegisterBenchmark;
  using State = benchmark::State;
  for (const DType type : {DType::f32, DType::bf16}) {
    register_products("gpt-micro", 384, type);
    register_products("gpt-nano", 128, type);
  }
  for (const bool backward : {false, true}) {
    const char* pass = backward ? "backward" : "forward";
    for (const DType type : {DType::f32, DType::bf16}) {
      RegisterBenchmark(fmt::format("attention/{}/{}", name(type), pass).c_str(),
                        [=](State& s) { attention(s, backward, type); })
          ->Args({6, 64})
          ->Args({4, 32})
          ->UseManualTime();
    }
  }
  for (const DType type : {DType::f32, DType::bf16}) {
    const auto add = [type](const char* op, auto f) {
      return RegisterBenchmark(fmt::format(fmt::runtime(op), name(type)).c_str(), f)
          ->UseManualTime();
    };
    add("adamw/{}/MiB", [=](State& s) { adamw(s, type); })->Arg(16)->Arg(64);
    add("sum_squares/{}/MiB", [=](State& s) { sum_squares(s, type); })->Arg(16)->Arg(64);
    add("reduce_ranks/{}/apart/MiB/ranks", [=](State& s) {
      reduce_ranks(s, false, type);
    })->ArgsProduct({{16, 64}, {2, 4}});
    add("reduce_ranks/{}/in_place/MiB/ranks", [=](State& s) {
      reduce_ranks(s, true, type);
    })->ArgsProduct({{16, 64}, {2, 4}});
  }
  RegisterBenchmark("stream_copy/MiB", stream_copy)->Arg(16)->Arg(64)->UseManualTime();
}

}  // namespace
}  // namespace shardmark

int main(int argc, char** argv) {
  return shardmark::run_benchmarks(argc, argv, shardmark::register_all);
}
