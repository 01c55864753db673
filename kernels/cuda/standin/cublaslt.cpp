// What does the stand-in's cuBLASLt compute? D = alpha op(A) op(B) + beta C + bias over
// column-major matrices, as NVIDIA documents cublasLtMatmul; plain sums on the stream's thread, and
// every promise is held against what comes.
#include <cublasLt.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/cpu/table.hpp"
#include "runtime.hpp"

struct StandinBlas {
  int gpu = shardmark::standin::current_gpu();
};
struct StandinProduct {
  cublasComputeType_t compute;
  std::int32_t turned_a = CUBLAS_OP_N, turned_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};
struct StandinLayout {
  cudaDataType type;
  std::uint64_t rows, columns;
  std::int64_t leading;
  bool operator==(const StandinLayout&) const = default;
};
struct StandinPreference {
  std::uint64_t workspace = 0;
  std::uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint32_t alignment[4] = {256, 256, 256, 256};  // of a, b, c, d
};

namespace shardmark::standin {
namespace {

// What a call needs, as the stream's thread will need it later.
struct Call {
  StandinProduct product;
  StandinLayout a, b, d;  // c is laid out as d
  const void *a_at, *b_at, *c_at;
  void* d_at;
  float alpha, beta;
  bool rounds_parts;  // sums of parts of the depth are kept in d's type
  std::size_t rows() const { return d.rows; }
  std::size_t columns() const { return d.columns; }
  std::size_t depth() const { return product.turned_a == CUBLAS_OP_T ? a.rows : a.columns; }
};

std::size_t size_of(cudaDataType t) { return t == CUDA_R_32F ? 4 : 2; }

template <class F>
void with_type(cudaDataType t, F&& f) {
  if (t == CUDA_R_32F) return f.template operator()<float>();
  if (t == CUDA_R_16BF) return f.template operator()<Bf16>();
  f.template operator()<F16>();
}
std::vector<float> widened(const void* from, std::size_t n, cudaDataType type) {
  std::vector<float> to(n);
  with_type(type, [&]<class T>() {
    cpu::table().of<T>().to_f32(static_cast<const T*>(from), to.data(), n);
  });
  return to;
}
void narrow(const float* from, void* to, std::size_t n, cudaDataType type) {
  with_type(type,
            [&]<class T>() { cpu::table().of<float>().to<T>()(from, static_cast<T*>(to), n); });
}

// TF32 has 10 bits of fraction (NVIDIA A100 whitepaper): to the nearest.
float tf32(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits = (bits + 0x1000u) & ~0x1fffu;
  std::memcpy(&x, &bits, 4);
  return x;
}

// A column-major operand as vectors over the depth, one after another: row i of op(A), or column j
// of op(B), which is where `across` says that the depth runs along the columns of what is stored.
std::vector<float> vectors(const void* at, const StandinLayout& l, bool across, bool rounded) {
  const auto leading = static_cast<std::size_t>(l.leading);
  const std::vector<float> stored = widened(at, leading * (l.columns - 1) + l.rows, l.type);
  const std::size_t count = across ? l.rows : l.columns, depth = across ? l.columns : l.rows;
  std::vector<float> to(count * depth);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < depth; ++k) {
      const float x = stored[across ? i + k * leading : i * leading + k];
      to[i * depth + k] = rounded ? tf32(x) : x;
    }
  }
  return to;
}

float dot(const float* x, const float* y, std::size_t n) {
  constexpr std::size_t lanes = 16;
  float sums[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (std::size_t l = 0; l < lanes; ++l) sums[l] += x[i + l] * y[i + l];
  }
  for (; i < n; ++i) sums[i % lanes] += x[i] * y[i];
  float total = 0;
  for (const float s : sums) total += s;
  return total;
}

void compute(const Call& call) {
  const bool rounded = call.product.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const auto a = vectors(call.a_at, call.a, call.product.turned_a == CUBLAS_OP_N, rounded),
             b = vectors(call.b_at, call.b, call.product.turned_b == CUBLAS_OP_T, rounded);
  const std::size_t rows = call.rows(), columns = call.columns(), depth = call.depth(),
                    leading = static_cast<std::size_t>(call.d.leading),
                    half = call.rounds_parts ? depth / 2 : 0, size = size_of(call.d.type);
  const bool biased = call.product.epilogue == CUBLASLT_EPILOGUE_BIAS;
  const auto bias = biased ? widened(call.product.bias, rows, call.d.type) : std::vector<float>();
  for (std::size_t j = 0; j < columns; ++j) {
    const std::size_t column = j * leading * size;
    std::vector<float> c, first(rows), sum(rows);
    if (call.beta != 0)
      c = widened(static_cast<const std::byte*>(call.c_at) + column, rows, call.d.type);
    for (std::size_t i = 0; i < rows; ++i) first[i] = dot(&a[i * depth], &b[j * depth], half);
    if (half) {
      std::vector<std::byte> kept(rows * size);
      narrow(first.data(), kept.data(), rows, call.d.type);
      first = widened(kept.data(), rows, call.d.type);
    }
    for (std::size_t i = 0; i < rows; ++i) {
      sum[i] = first[i] + dot(&a[i * depth + half], &b[j * depth + half], depth - half);
      sum[i] = call.alpha * sum[i] + (c.empty() ? 0 : call.beta * c[i]) + (biased ? bias[i] : 0);
    }
    narrow(sum.data(), static_cast<std::byte*>(call.d_at) + column, rows, call.d.type);
  }
}

bool fits(const StandinProduct& p, const StandinLayout& a, const StandinLayout& b,
          const StandinLayout& c, const StandinLayout& d) {
  const auto rows = [](const StandinLayout& l, int t) {
    return t == CUBLAS_OP_T ? l.columns : l.rows;
  };
  const auto columns = [](const StandinLayout& l, int t) {
    return t == CUBLAS_OP_T ? l.rows : l.columns;
  };
  return rows(a, p.turned_a) == d.rows && columns(b, p.turned_b) == d.columns &&
         columns(a, p.turned_a) == rows(b, p.turned_b) && c == d && a.type == b.type &&
         (a.type == d.type || d.type == CUDA_R_32F);
}
bool aligned(const void* p, std::uint64_t to) {
  return p && reinterpret_cast<std::uintptr_t>(p) % to == 0;
}
// 16 bytes for the bias: the library does without for some types, and does not say for which.
bool can_add(const StandinProduct& p) {
  return p.epilogue == CUBLASLT_EPILOGUE_DEFAULT || aligned(p.bias, 16);
}
constexpr std::size_t part_of_workspace = 4;  // bytes for each element of the result

// An algorithm: whom it is for, what it was promised, and what it needs.
struct Algorithm {
  std::uint64_t rows, columns, depth;
  std::uint32_t alignment[4];
  std::uint64_t workspace, rounds_parts;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

template <class T>
cublasStatus_t set(T& to, const void* from, std::size_t bytes) {
  if (bytes != sizeof(T) || !from) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t give(T* object) {
  if (!object) return CUBLAS_STATUS_INVALID_VALUE;
  delete object;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace shardmark::standin

using namespace shardmark::standin;

extern "C" {

const char* cublasLtGetStatusString(cublasStatus_t s) {
  if (s == CUBLAS_STATUS_SUCCESS) return "success";
  if (s == CUBLAS_STATUS_NOT_INITIALIZED) return "the library was not initialized";
  return s == CUBLAS_STATUS_INVALID_VALUE ? "an unsupported numerical value was passed"
                                          : "the functionality is not supported";
}
std::size_t cublasLtGetVersion() { return 130002; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* h) {
  *h = new StandinBlas;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t h) { return give(h); }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* p, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
  *p = new StandinProduct{.compute = compute};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t p) { return give(p); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t p,
                                              cublasLtMatmulDescAttributes_t what, const void* from,
                                              std::size_t bytes) {
  switch (what) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(p->turned_a, from, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(p->turned_b, from, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(p->epilogue, from, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(p->bias, from, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* l, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t leading) {
  if (rows == 0 || columns == 0 || leading < static_cast<std::int64_t>(rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  *l = new StandinLayout{type, rows, columns, leading};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) { return give(l); }

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* p) {
  *p = new StandinPreference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) { return give(p); }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t what,
                                                    const void* from, std::size_t bytes) {
  if (what == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return set(p->workspace, from, bytes);
  if (what == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) return set(p->reduction, from, bytes);
  const int operand = what - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (operand < 0 || operand > 3) return CUBLAS_STATUS_INVALID_VALUE;
  return set(p->alignment[operand], from, bytes);
}

// One algorithm. It sums the depth in two parts where it gets memory for one of them, or may keep
// it rounded.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t p,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t with, int asked,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  *found = 0;
  if (!h) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (asked < 1 || !fits(*p, *a, *b, *c, *d)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!can_add(*p)) return CUBLAS_STATUS_NOT_SUPPORTED;
  Algorithm it{d->rows, d->columns, p->turned_a == CUBLAS_OP_T ? a->rows : a->columns, {}, 0, 0};
  std::copy_n(with->alignment, 4, it.alignment);
  it.rounds_parts = (with->reduction & (CUBLASLT_REDUCTION_SCHEME_INPLACE |
                                        CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE)) != 0;
  if (const std::size_t part = d->rows * d->columns * part_of_workspace; part <= with->workspace)
    it.workspace = part;
  results[0] = {};
  std::memcpy(&results[0].algo, &it, sizeof it);
  results[0].workspaceSize = it.workspace;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t p, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t la, const void* b,
                              cublasLtMatrixLayout_t lb, const void* beta, const void* c,
                              cublasLtMatrixLayout_t lc, void* d, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  if (!h) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!algorithm || !alpha || !beta || !fits(*p, *la, *lb, *lc, *ld) || !is_of(stream, h->gpu))
    return CUBLAS_STATUS_INVALID_VALUE;
  Algorithm it;
  std::memcpy(&it, algorithm, sizeof it);
  Call call{*p, *la, *lb, *ld, a, b, c, d, 0, 0, it.rounds_parts != 0};
  std::memcpy(&call.alpha, alpha, sizeof call.alpha);
  std::memcpy(&call.beta, beta, sizeof call.beta);
  const bool keeps_promises = aligned(a, it.alignment[0]) && aligned(b, it.alignment[1]) &&
                              aligned(c, it.alignment[2]) && aligned(d, it.alignment[3]) &&
                              (it.workspace == 0 || aligned(workspace, 256));
  if (it.rows != call.rows() || it.columns != call.columns() || it.depth != call.depth() ||
      it.workspace > workspace_bytes || !keeps_promises || !can_add(*p))
    return CUBLAS_STATUS_INVALID_VALUE;
  enqueue(stream, {.name = "gemm"}, [call, workspace, bytes = it.workspace] {
    if (bytes) std::memset(workspace, 0xff, bytes);
    compute(call);
  });
  return CUBLAS_STATUS_SUCCESS;
}
}
