// How is a product computed by oneDNN? The one file that knows its interface, in its 2.x and
// its 3.x form. Creating a primitive takes milliseconds and using one microseconds, so each thread
// keeps those it has met; ranks are threads, and share nothing here.
#include <omp.h>

#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>

#include "math.hpp"
#include "run.hpp"

namespace shardmark::cpu {

namespace {

using dnnl::memory;

const dnnl::engine& engine() {
  static const dnnl::engine e(dnnl::engine::kind::cpu, 0);
  return e;
}
dnnl::stream& stream() {
  thread_local dnnl::stream s(engine());
  return s;
}

// Setting the number of threads is not free, and a rank always asks for the same.
void use_threads(int threads) {
  thread_local int used = 0;
  if (used == threads) return;
  omp_set_num_threads(threads);
  used = threads;
}

bool computes_bf16() {
  // Each set's bits hold those of the sets that it has; below this one, oneDNN is slower than our
  // tiles.
  constexpr auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  static const bool has = (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
  return has;
}
bool computes(DType t) { return t == DType::f32 || (t == DType::bf16 && computes_bf16()); }

memory::data_type type_of(const Matmul& o) {
  return o.a.dtype() == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}
memory::desc row_of(const Matmul& o) {
  const auto n = static_cast<memory::dim>(o.n);
  return {{1, n}, type_of(o), memory::dims{n, 1}};
}

// A pass of its own after the product is several times as fast in f32; in bf16 it would round twice.
bool adds_residual_after(const Matmul& o) { return o.residual && o.a.dtype() == DType::f32; }
bool adds_residual_within(const Matmul& o) { return o.residual && o.a.dtype() != DType::f32; }
int residual_argument(const Matmul& o) {
  return DNNL_ARG_ATTR_MULTIPLE_POST_OP(o.adds ? 1 : 0) | DNNL_ARG_SRC_1;
}

dnnl::matmul::primitive_desc describe(const Matmul& o) {
  const auto m = static_cast<memory::dim>(o.m), n = static_cast<memory::dim>(o.n),
             k = static_cast<memory::dim>(o.k);
  const auto type = type_of(o);
  const memory::desc a({m, k}, type, o.ta ? memory::dims{1, m} : memory::dims{k, 1});
  const memory::desc b({k, n}, type, o.tb ? memory::dims{1, k} : memory::dims{n, 1});
  const memory::desc c({m, n}, type, memory::dims{n, 1}), bias = row_of(o);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops after;
  if (o.adds) after.append_sum(1.0f);
  if (adds_residual_within(o)) after.append_binary(dnnl::algorithm::binary_add, c);
  attributes.set_post_ops(after);
#if DNNL_VERSION_MAJOR >= 3
  if (o.bias) return {engine(), a, b, bias, c, attributes};
  return {engine(), a, b, c, attributes};
#else
  if (o.bias) return {dnnl::matmul::desc(a, b, bias, c), attributes, engine()};
  return {dnnl::matmul::desc(a, b, c), attributes, engine()};
#endif
}

class Primitive {
 public:
  explicit Primitive(const Matmul& o) {
    const dnnl::matmul::primitive_desc d = describe(o);
    scratch_bytes_ = d.scratchpad_desc().get_size();
    run_ = dnnl::matmul(d);
    const auto operand = [&](int which, const memory::desc& shape) {
      operands_.emplace(which, memory(shape, engine(), nullptr));
    };
    operand(DNNL_ARG_SRC, d.src_desc());
    operand(DNNL_ARG_WEIGHTS, d.weights_desc());
    operand(DNNL_ARG_DST, d.dst_desc());
    if (o.bias) operand(DNNL_ARG_BIAS, row_of(o));
    if (adds_residual_within(o)) operand(residual_argument(o), d.dst_desc());
    if (scratch_bytes_ > 0) operand(DNNL_ARG_SCRATCHPAD, d.scratchpad_desc());
  }
  std::size_t scratch_bytes() const { return scratch_bytes_; }

  void run(const Matmul& o) {
    at(DNNL_ARG_SRC, o.a);
    at(DNNL_ARG_WEIGHTS, o.b);
    at(DNNL_ARG_DST, o.c);
    if (o.bias) at(DNNL_ARG_BIAS, o.bias);
    if (adds_residual_within(o)) at(residual_argument(o), o.residual);
    if (scratch_bytes_ > 0) at(DNNL_ARG_SCRATCHPAD, o.scratch);
    run_.execute(stream(), operands_);
    stream().wait();
  }

 private:
  void at(int which, ConstView v) {
    operands_[which].set_data_handle(reinterpret_cast<void*>(v.address()));
  }

  std::size_t scratch_bytes_ = 0;
  dnnl::matmul run_;
  std::unordered_map<int, memory> operands_;
};

Primitive& primitive(const Matmul& o, int threads) {
  using Key =
      std::tuple<std::size_t, std::size_t, std::size_t, bool, bool, bool, bool, bool, DType, int>;
  thread_local std::map<Key, Primitive> known;
  use_threads(threads);
  const Key key{o.m,
                o.n,
                o.k,
                o.ta,
                o.tb,
                o.adds,
                static_cast<bool>(o.bias),
                adds_residual_within(o),
                o.a.dtype(),
                threads};
  const auto it = known.find(key);
  if (it != known.end()) return it->second;
  try {
    return known.try_emplace(key, o).first->second;
  } catch (const dnnl::error& e) {
    throw Error(matrix_library() + " cannot compute a product of m=" + std::to_string(o.m) +
                " n=" + std::to_string(o.n) + " k=" + std::to_string(o.k) + ": " + e.what());
  }
}

}  // namespace

std::size_t scratch_of(const Matmul& o, int threads) {
  return computes(o.a.dtype()) ? primitive(o, threads).scratch_bytes() : 0;
}

std::string matrix_library() {
  const dnnl_version_t* v = dnnl_version();
  return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
         std::to_string(v->patch);
}

std::string product_path(DType t) {
  if (computes(t)) return matrix_library();
  return t == DType::bf16 ? "own tiles (no AVX512-BF16)" : "own tiles (oneDNN has no f16 here)";
}

void multiply(const Matmul& o, int threads) {
  if (!computes(o.a.dtype())) return multiply_by_tiles(o, threads);
  primitive(o, threads).run(o);
  if (adds_residual_after(o)) run_op(Add{o.residual, o.c}, threads);
}

}  // namespace shardmark::cpu
