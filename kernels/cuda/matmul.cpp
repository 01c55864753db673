#include "kernels/cuda/matmul.hpp"

#include <algorithm>
#include <array>
#include <compare>

#include "kernels/cuda/ops.hpp"
#include "kernels/product_operands.hpp"

namespace shardmark::cuda {
namespace {

void check(cublasStatus_t s, const char* what) {
  if (s != CUBLAS_STATUS_SUCCESS)
    throw Error(std::string(what) + ": cuBLASLt says: " + cublasLtGetStatusString(s));
}

// What cuBLASLt creates and wants back.
template <class T, cublasStatus_t destroy(T)>
class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (it_) destroy(it_);
  }
  T* to_create() { return &it_; }
  operator T() const { return it_; }

 private:
  T it_ = nullptr;
};
using Product = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

cudaDataType type_of(DType t) {
  if (t == DType::f32) return CUDA_R_32F;
  return t == DType::bf16 ? CUDA_R_16BF : CUDA_R_16F;
}
void* at(ConstView v) { return reinterpret_cast<void*>(v.address()); }

// What the address is a multiple of, as far as it makes a difference: accesses have up to 16 bytes.
std::uint8_t alignment(ConstView v) {
  const std::uintptr_t low = v.address() & (~v.address() + 1);
  return low == 0 || low > 16 ? 16 : static_cast<std::uint8_t>(low);
}
// What is added to the product: the array itself, the residual or nothing.
ConstView added(const Matmul& o) { return o.residual ? o.residual : o.c; }

void create(Layout& l, DType type, std::size_t rows, std::size_t columns) {
  check(cublasLtMatrixLayoutCreate(l.to_create(), type_of(type), rows, columns,
                                   static_cast<std::int64_t>(rows)),
        "describing a matrix");
}
template <class V>
void set(const Product& p, cublasLtMatmulDescAttributes_t what, V value) {
  check(cublasLtMatmulDescSetAttribute(p, what, &value, sizeof value), "describing a product");
}
template <class V>
void set(const Preference& p, cublasLtMatmulPreferenceAttributes_t what, V value) {
  check(cublasLtMatmulPreferenceSetAttribute(p, what, &value, sizeof value),
        "saying how to look for an algorithm");
}

constexpr std::size_t workspace_line = 256;  // bytes: where cuBLASLt wants its workspace to start

}  // namespace

// All that an algorithm may depend on: the same shape in equally aligned memory is always computed
// in the same order.
struct Blas::Key {
  std::size_t m, n, k;
  DType type;
  bool ta, tb, adds, bias, residual, tf32;
  std::array<std::uint8_t, 5> alignments;
  auto operator<=>(const Key&) const = default;
};

struct Blas::Plan {
  Product product;
  Layout a, b, c;  // as stored, read by columns
  cublasLtMatmulHeuristicResult_t found{};
  bool exists = false;
};

Blas::Blas() {
  int gpu = 0;
  cudaDeviceProp is;
  cuda::check(cudaGetDevice(&gpu), "asking for the GPU in use");
  cuda::check(cudaGetDeviceProperties(&is, gpu), "asking what a GPU is");
  major_ = is.major;
  check(cublasLtCreate(&handle_), "starting cuBLASLt");
}
Blas::~Blas() {
  plans_.clear();
  cublasLtDestroy(handle_);
}

std::size_t product_scratch(const Matmul& o, int major) {
  constexpr std::size_t most_parts = 32;  // of the depth, each with an f32 sum
  // cuBLAS library documentation, cublasSetWorkspace.
  const std::size_t recommended = std::size_t{major >= 9 ? 32u : 4u} << 20;
  return std::min(recommended, most_parts * o.m * o.n * sizeof(float)) + workspace_line;
}

const Blas::Plan& Blas::plan(const Matmul& o, bool tf32) {
  const Key key{
      o.m,
      o.n,
      o.k,
      o.a.dtype(),
      o.ta,
      o.tb,
      o.adds,
      static_cast<bool>(o.bias),
      static_cast<bool>(o.residual),
      tf32,
      {alignment(o.a), alignment(o.b), alignment(o.c), alignment(added(o)), alignment(o.bias)}};
  if (const auto it = plans_.find(key); it != plans_.end()) return *it->second;
  return *plans_.emplace(key, made(o, tf32)).first->second;
}

// cuBLASLt reads by columns, so that what is row-major here is transposed there: it is given the
// transposed product, c^T = b^T a^T, and its first operand is b.
std::unique_ptr<const Blas::Plan> Blas::made(const Matmul& o, bool tf32) const {
  auto plan = std::make_unique<Plan>();
  Plan& p = *plan;
  // An algorithm may read a bias 16 bytes at a time, and there is no way to say that it must not.
  if (o.bias && alignment(o.bias) < 16) return plan;
  const DType type = o.a.dtype();
  const bool rounds = type == DType::f32 && tf32;
  check(cublasLtMatmulDescCreate(p.product.to_create(),
                                 rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                 CUDA_R_32F),
        "describing a product");
  set(p.product, CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{o.tb ? CUBLAS_OP_T : CUBLAS_OP_N});
  set(p.product, CUBLASLT_MATMUL_DESC_TRANSB, std::int32_t{o.ta ? CUBLAS_OP_T : CUBLAS_OP_N});
  if (o.bias) {
    set(p.product, CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_BIAS});
    set(p.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(at(o.bias)));
  }
  create(p.a, type, o.ta ? o.m : o.k, o.ta ? o.k : o.m);
  create(p.b, type, o.tb ? o.k : o.n, o.tb ? o.n : o.k);
  create(p.c, type, o.n, o.m);

  Preference how;
  check(cublasLtMatmulPreferenceCreate(how.to_create()), "saying how to look for an algorithm");
  set(how, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
      std::uint64_t{scratch_bytes(o) - workspace_line});
  // Sums of parts of the depth are kept in f32, and added in their order.
  set(how, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  set(how, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::uint32_t{alignment(o.b)});
  set(how, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, std::uint32_t{alignment(o.a)});
  set(how, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, std::uint32_t{alignment(added(o))});
  set(how, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, std::uint32_t{alignment(o.c)});
  int found = 0;
  const cublasStatus_t s = cublasLtMatmulAlgoGetHeuristic(handle_, p.product, p.b, p.a, p.c, p.c,
                                                          how, 1, &p.found, &found);
  if (s != CUBLAS_STATUS_NOT_SUPPORTED) check(s, "looking for an algorithm");
  p.exists = s == CUBLAS_STATUS_SUCCESS && found == 1 && p.found.state == CUBLAS_STATUS_SUCCESS;
  return plan;
}

bool Blas::multiply(const Matmul& o, const Launch& on) {
  const Plan& p = plan(o, on.tf32);
  if (!p.exists) {
    ++declined_;
    return false;
  }
  if (o.bias)
    set(p.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(at(o.bias)));
  const float alpha = 1, beta = o.adds || o.residual ? 1 : 0;
  const std::uintptr_t scratch =
      (o.scratch.address() + workspace_line - 1) / workspace_line * workspace_line;
  const cublasStatus_t s = cublasLtMatmul(
      handle_, p.product, &alpha, at(o.b), p.b, at(o.a), p.a, &beta, at(added(o)), p.c, at(o.c),
      p.c, &p.found.algo, reinterpret_cast<void*>(scratch), p.found.workspaceSize, on.stream);
  if (s == CUBLAS_STATUS_NOT_SUPPORTED) {  // of what the heuristic has found
    ++declined_;
    return false;
  }
  check(s, "a product");
  return true;
}

std::size_t scratch_of(const Matmul& o, const Launch& on) { return product_scratch(o, on.major); }

void run_op(const Matmul& o, const Launch& on) {
  const Operands is("matmul", Space::device);
  check_product(is, o);
  is.scratch(o.scratch, on.blas->scratch_bytes(o));
  const bool adds_twice = o.adds && o.residual;  // cuBLASLt adds one matrix
  if (adds_twice || !on.blas->multiply(o, on)) multiply_by_tiles(o, on);
}

}  // namespace shardmark::cuda
