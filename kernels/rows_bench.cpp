// How fast are the ops between products? On 1024 rows that the caches hold, as they do in training;
// on one thread, in f32 and in bf16.
#include <fmt/format.h>

#include "kernels/ops_bench.hpp"

namespace shardmark {
namespace {

constexpr std::size_t rows = 1024;

template <class O>
void time_rows(benchmark::State& state, O op, std::size_t elements) {
  const Block scratch(std::max<std::size_t>(1, cpu::scratch_bytes(op, 1)), DType::u8);
  if constexpr (requires { op.scratch; }) op.scratch = scratch;
  const Op o = op;
  cpu::run(o, 1);
  for (auto _ : state) cpu::run(o, 1);
  state.counters["elements/s"] = benchmark::Counter(static_cast<double>(elements),
                                                    benchmark::Counter::kIsIterationInvariantRate,
                                                    benchmark::Counter::kIs1000);
}

std::size_t width_of(const benchmark::State& state) {
  return static_cast<std::size_t>(state.range(0));
}

void layer_norm(benchmark::State& state, bool backward, DType type) {
  const std::size_t w = width_of(state), n = rows * w;
  const Block x(n, type), gain(w, type), bias(w, type), out(n, type), stats(2 * rows), dx(n, type),
      dgain(w, type), dbias(w, type);
  const LayerNorm forward{x, gain, bias, out, stats, w};
  if (!backward) return time_rows(state, forward, n);
  cpu::run(forward, 1);
  time_rows(state, LayerNormBackward{out, x, gain, stats, dx, dgain, dbias, w, {}}, n);
}

void rms_norm(benchmark::State& state, bool backward, DType type) {
  const std::size_t w = width_of(state), n = rows * w;
  const Block x(n, type), gain(w, type), out(n, type), stats(rows), dx(n, type), dgain(w, type);
  const RmsNorm forward{x, gain, out, stats, w};
  if (!backward) return time_rows(state, forward, n);
  cpu::run(forward, 1);
  time_rows(state, RmsNormBackward{out, x, gain, stats, dx, dgain, w, {}}, n);
}

// Heads of 64, sequences of 256.
void rotary(benchmark::State& state, bool backward, DType type) {
  constexpr std::size_t head_dim = 64, sequence = 256;
  const std::size_t w = width_of(state);
  const Block x(rows * w, type), table(sequence * head_dim);
  cpu::run(RotaryTable{table, head_dim, 10000, {}}, 1);
  time_rows(state, Rotary{x, table, sequence, w / head_dim, head_dim, w, backward}, rows * w);
}

void gelu(benchmark::State& state, bool backward, DType type) {
  const std::size_t w = width_of(state), n = rows * w;
  const Block x(n, type), out(n, type), bias(w, type);
  if (!backward) return time_rows(state, Gelu{x, out}, n);
  // Where the slope is 1: run again and again, the gradient must not vanish.
  cpu::run(Fill{x, {Init::Kind::constant, 10.0f}, 0, 0, 0}, 1);
  time_rows(state, GeluBackward{x, out, bias, w}, n);
}

void swiglu(benchmark::State& state, bool backward, DType type) {
  const std::size_t w = width_of(state), n = rows * w;
  const Block x(2 * n, type), out(n, type), dx(2 * n, type);
  if (!backward) return time_rows(state, Swiglu{x, out, w}, n);
  time_rows(state, SwigluBackward{x, out, dx, w}, n);
}

void cross_entropy(benchmark::State& state, bool backward, DType type) {
  constexpr std::size_t classes = 256, n = rows * classes;
  const Block logits(n, type), targets(rows, DType::i32), lse(rows), loss(1, DType::f64);
  const CrossEntropy forward{logits, targets, lse, loss, classes, 0, 1};
  if (!backward) return time_rows(state, forward, n);
  cpu::run(forward, 1);
  time_rows(state, CrossEntropyBackward{targets, lse, logits, classes, 1, {}}, n);
}

// Tokens as in text: half of them are four of the vocabulary.
void embed(benchmark::State& state, bool backward, DType type) {
  constexpr std::size_t vocabulary = 256, sequence = 256;
  const std::size_t w = width_of(state), n = rows * w;
  const Block tokens(rows, DType::i32), table(vocabulary * w, type), positions(sequence * w, type),
      x(n, type);
  for (std::size_t r = 0; r < rows; ++r)
    View(tokens).host<std::int32_t>()[r] =
        static_cast<std::int32_t>(r % 2 ? r % 8 / 2 : r * r % vocabulary);
  if (!backward) return time_rows(state, Embed{tokens, table, positions, x, w, sequence}, n);
  time_rows(state, EmbedBackward{tokens, x, table, positions, w, sequence, {}}, n);
}

void column_sum(benchmark::State& state, DType type) {
  const std::size_t w = width_of(state), n = rows * w;
  const Block x(n, type), total(w, type);
  time_rows(state, ColumnSum{x, total}, n);
}

void register_all() {
  using benchmark::RegisterBenchmark;
  using State = benchmark::State;
  for (const DType type : {DType::f32, DType::bf16}) {
    for (const bool backward : {false, true}) {
      const auto add = [=](const char* op, auto f) {
        return RegisterBenchmark(
            fmt::format("{}/{}/{}", op, name(type), backward ? "backward" : "forward").c_str(),
            [=](State& s) { f(s, backward, type); });
      };
      add("layer_norm", layer_norm)->Arg(384)->Arg(128);
      add("rms_norm", rms_norm)->Arg(384)->Arg(128);
      add("rotary", rotary)->Arg(384);
      add("gelu", gelu)->Arg(1536)->Arg(512);
      add("swiglu", swiglu)->Arg(1024);
      add("cross_entropy", cross_entropy);
      add("embed", embed)->Arg(384);
    }
    RegisterBenchmark(fmt::format("column_sum/{}", name(type)).c_str(),
                      [=](State& s) { column_sum(s, type); })
        ->Arg(1152)
        ->Arg(384);
  }
}

}  // namespace
}  // namespace shardmark

int main(int argc, char** argv) {
  return shardmark::run_benchmarks(argc, argv, shardmark::register_all);
}
