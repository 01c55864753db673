// How fast is each op on this GPU? Products in FLOP/s, and beside a bare call of cuBLASLt that
// takes turns with them (of_bare); attention in FLOP/s; ops that memory bounds in bytes/s, and as a
// share of a copy of as many bytes that takes turns with them (of_copy). Times are between events
// on the stream. --tiny: sizes that try the program alone.
#include <fmt/format.h>

#include <cstring>

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/gpu_bench.hpp"

namespace shardmark::cuda {
namespace {

// What anyone would write who calls cuBLASLt once: its defaults, and its first proposal.
class BareProduct {
 public:
  BareProduct(const Matmul& o, std::size_t workspace_bytes, bool tf32) : o_(o) {
    const auto type = o.a.dtype() == DType::f32    ? CUDA_R_32F
                      : o.a.dtype() == DType::bf16 ? CUDA_R_16BF
                                                   : CUDA_R_16F;
    const std::int32_t turned = CUBLAS_OP_T;
    cublasLtCreate(&handle_);
    cublasLtMatmulDescCreate(&does_, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                             CUDA_R_32F);
    if (o.tb)
      cublasLtMatmulDescSetAttribute(does_, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned);
    if (o.ta)
      cublasLtMatmulDescSetAttribute(does_, CUBLASLT_MATMUL_DESC_TRANSB, &turned, sizeof turned);
    const auto lay_out = [&](cublasLtMatrixLayout_t& l, std::size_t rows, std::size_t columns) {
      cublasLtMatrixLayoutCreate(&l, type, columns, rows, static_cast<std::int64_t>(columns));
    };
    lay_out(a_, o.ta ? o.k : o.m, o.ta ? o.m : o.k);
    lay_out(b_, o.tb ? o.n : o.k, o.tb ? o.k : o.n);
    lay_out(c_, o.m, o.n);
    cublasLtMatmulPreference_t with;
    cublasLtMatmulPreferenceCreate(&with);
    const std::uint64_t most = workspace_bytes;
    cublasLtMatmulPreferenceSetAttribute(with, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                         sizeof most);
    int found = 0;
    cublasLtMatmulAlgoGetHeuristic(handle_, does_, b_, a_, c_, c_, with, 1, &best_, &found);
    cublasLtMatmulPreferenceDestroy(with);
    require(found == 1, "cuBLASLt proposes nothing for a product of the benchmark");
  }
  ~BareProduct() {
    for (const auto l : {a_, b_, c_}) cublasLtMatrixLayoutDestroy(l);
    cublasLtMatmulDescDestroy(does_);
    cublasLtDestroy(handle_);
  }
  BareProduct(const BareProduct&) = delete;
  BareProduct& operator=(const BareProduct&) = delete;
  void run(void* workspace, cudaStream_t stream) const {
    const float one = 1, beta = o_.adds ? 1 : 0;
    const auto at = [](ConstView v) { return reinterpret_cast<void*>(v.address()); };
    const cublasStatus_t s =
        cublasLtMatmul(handle_, does_, &one, at(o_.b), b_, at(o_.a), a_, &beta, at(o_.c), c_,
                       at(o_.c), c_, &best_.algo, workspace, best_.workspaceSize, stream);
    require(s == CUBLAS_STATUS_SUCCESS, "cuBLASLt refuses the bare product of a benchmark");
  }

 private:
  Matmul o_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t does_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  cublasLtMatmulHeuristicResult_t best_{};
};

struct Sizes {
  std::size_t width, rows, sequence, heads, elements;
};

void product(benchmark::State& state, Bench& bench, Matmul o, DType type, bool tf32) {
  const Block a(bench, o.m * o.k, type), b(bench, o.k * o.n, type), c(bench, o.m * o.n, type);
  o.a = a, o.b = b, o.c = c;
  bench.on().tf32 = tf32;
  const std::size_t bytes = bench.blas().scratch_bytes(o);
  const Block scratch(bench, bytes, DType::u8);
  o.scratch = scratch;
  const BareProduct bare(o, bytes, tf32);
  time_pairs(
      state, bench, "FLOP/s", flops(o), "of_bare", [&] { bench.run(o); },
      [&] { bare.run(scratch.at(), bench.stream()); });
}

void register_products(Bench& bench, const Sizes& s) {
  struct Layer {
    const char* name;
    std::size_t in, out;
  };
  const Layer layers[] = {{"qkv", s.width, 3 * s.width},
                          {"proj", s.width, s.width},
                          {"up", s.width, 4 * s.width},
                          {"down", 4 * s.width, s.width}};
  const auto add = [&](const std::string& type_name, DType type, bool tf32) {
    for (const Layer& l : layers) {
      const auto pass = [&](const char* name, std::size_t m, std::size_t n, std::size_t k, bool ta,
                            bool tb) {
        Matmul o;
        o.m = m, o.n = n, o.k = k, o.ta = ta, o.tb = tb, o.adds = ta;
        const std::string title =
            fmt::format("matmul/{}/{}/{}/{}x{}x{}", type_name, l.name, name, m, n, k);
        benchmark::RegisterBenchmark(title.c_str(), [=, &bench](benchmark::State& state) {
          product(state, bench, o, type, tf32);
        })->UseManualTime();
      };
      pass("forward", s.rows, l.out, l.in, false, false);
      pass("dx", s.rows, l.in, l.out, false, true);
      pass("dw", l.in, l.out, s.rows, true, false);
    }
  };
  add("bf16", DType::bf16, false);
  add("f32", DType::f32, false);
  add("tf32", DType::f32, true);
}

void attention(benchmark::State& state, Bench& bench, const Sizes& s, std::size_t head_dim,
               DType type, bool backward) {
  const std::size_t batch = s.rows / s.sequence, heads = s.width / head_dim,
                    size = s.rows * s.width;
  const Block qkv(bench, 3 * size, type), out(bench, size, type), grad(bench, size, type),
      lse(bench, s.rows * heads, DType::f32), dqkv(bench, 3 * size, type);
  const Attention forward{qkv, out, lse, batch, s.sequence, heads, heads, head_dim};
  AttentionBackward back{qkv, out, lse, grad, dqkv, batch, s.sequence, heads, heads, head_dim, {}};
  const Block scratch(bench, scratch_bytes(back, bench.on()), DType::u8);
  back.scratch = scratch;
  bench.run(forward);
  const Op op = backward ? Op(back) : Op(forward);
  time_pairs(state, bench, "FLOP/s", flops(op), "", [&] { bench.run(op); }, {});
}

// bytes: read and written.
void time_bytes(benchmark::State& state, Bench& bench, const Op& op, double bytes) {
  const auto copied = static_cast<std::size_t>(bytes / 2);
  const Block from(bench, copied, DType::u8), to(bench, copied, DType::u8);
  time_pairs(
      state, bench, "bytes/s", bytes, "of_copy", [&] { bench.run(op); },
      [&] {
        check(cudaMemcpyAsync(to.at(), from.at(), copied, cudaMemcpyDeviceToDevice, bench.stream()),
              "a copy");
      });
}

void adamw(benchmark::State& state, Bench& bench, std::size_t n, DType type) {
  const bool narrow = type != DType::f32;
  const Block weight(bench, n, type), master(bench, narrow ? n : 0, DType::f32),
      grad(bench, n, type), first(bench, n, DType::f32), second(bench, n, DType::f32),
      control(bench, control_slots, DType::f32);
  for (const Block* b : {&second, &control}) bench.run(Clear{*b});
  // A step that is not skipped; loss_scale 0 is not read, and the first step's corrections are
  // finite.
  const float slots[control_slots] = {1, 0, 10, 1, 0};
  check(cudaMemcpyAsync(control.at(), slots, sizeof slots, cudaMemcpyDefault, bench.stream()),
        "the scalars of a step");
  const AdamW op{weight, master, grad, first, second, control, {}};
  time_bytes(state, bench, op, 28.0 * static_cast<double>(n));  // in bf16, too
}

void cast(benchmark::State& state, Bench& bench, std::size_t n, DType from_type, DType to_type) {
  const Block from(bench, n, from_type), to(bench, n, to_type);
  const Cast op{from, to};
  time_bytes(state, bench, op, op.access().bytes());
}

void register_all(Bench& bench, const Sizes& s) {
  using benchmark::RegisterBenchmark;
  using State = benchmark::State;
  register_products(bench, s);
  for (const DType type : {DType::bf16, DType::f32}) {
    for (const std::size_t head_dim : {s.width / s.heads, 2 * s.width / s.heads}) {
      for (const bool backward : {false, true}) {
        const std::string title =
            fmt::format("attention/{}/{}/{}x{}/{}", name(type), backward ? "backward" : "forward",
                        s.rows / s.sequence, s.sequence, head_dim);
        RegisterBenchmark(title.c_str(), [=, &bench](State& state) {
          attention(state, bench, s, head_dim, type, backward);
        })->UseManualTime();
      }
    }
    RegisterBenchmark(fmt::format("adamw/{}", name(type)).c_str(), [=, &bench](State& state) {
      adamw(state, bench, s.elements, type);
    })->UseManualTime();
  }
  for (const auto& [from, to] : {std::pair{DType::f32, DType::bf16}, {DType::bf16, DType::f32}}) {
    RegisterBenchmark(fmt::format("cast/{}/{}", name(from), name(to)).c_str(), [=, &bench](
                                                                                   State& state) {
      cast(state, bench, s.elements, from, to);
    })->UseManualTime();
  }
}

}  // namespace
}  // namespace shardmark::cuda

int main(int argc, char** argv) {
  using namespace shardmark;
  const bool tiny = argc > 1 && std::strcmp(argv[argc - 1], "--tiny") == 0;
  if (tiny) --argc;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  if (const std::string why = cuda::why_none(); !why.empty()) {
    fmt::print(stderr, "{}\n", why);
    return 2;
  }
  const cuda::Gpu gpu = cuda::gpus().front();
  benchmark::AddCustomContext("gpu", gpu.name);
  benchmark::AddCustomContext("library", cuda::library());
  cuda::Bench bench(gpu, tiny ? 1 : 10);
  // Of a gpt of 124 million parameters with 8 sequences; arrays that no cache holds.
  cuda::register_all(bench, tiny ? cuda::Sizes{64, 32, 16, 2, 1000}
                                 : cuda::Sizes{768, 8192, 1024, 12, std::size_t{32} << 20});
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
