// How are rows made of tokens, and what flows back into the table? Rows that meet in one row of it
// are added by one thread a column, in their order. A token that is none gives NaN: the host reads
// nothing here, and the loss will show it.
#include <cub/device/device_radix_sort.cuh>

#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/packs.cuh"
#include "kernels/operands.hpp"

namespace shardmark::cuda {
namespace {

template <class T>
struct Embedding {
  const std::int32_t* tokens;
  const T *table, *positions;
  T* out;
  std::size_t vocabulary, width, sequence;
};
__device__ bool is_token(std::int32_t t, std::size_t vocabulary) {
  return t >= 0 && static_cast<std::size_t>(t) < vocabulary;
}

template <class T, int n>
__global__ void __launch_bounds__(256) embed(Embedding<T> a) {
  const std::size_t row = blockIdx.x, w = a.width;
  const std::int32_t token = a.tokens[row];
  const bool known = is_token(token, a.vocabulary);
  const T* from = a.table + (known ? static_cast<std::size_t>(token) * w : 0);
  for (std::size_t i = threadIdx.x * n; i < w; i += blockDim.x * n) {
    Floats<n> v = load<n>(from + i), position{};
    if (a.positions) position = load<n>(a.positions + row % a.sequence * w + i);
    store<n>(a.out + row * w + i, each_of<n>([&](int j) {
               return known ? v.at[j] + position.at[j] : __uint_as_float(0x7fc00000u);
             }));
  }
}

__global__ void __launch_bounds__(256) count_up(std::uint32_t* to, std::uint32_t n) {
  const std::uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) to[i] = i;
}

// Row numbers by their token, and in their own order within it.
class Order {
 public:
  explicit Order(std::size_t rows) : rows_(rows) {}
  std::size_t scratch_bytes() const { return 3 * array_bytes() + sort_bytes(); }

  const std::uint32_t* enqueue(const std::int32_t* tokens, View scratch, cudaStream_t on) {
    const auto part = [&](std::size_t i) {
      return reinterpret_cast<std::uint32_t*>(scratch.address() + i * array_bytes());
    };
    std::uint32_t *const order = part(0), *const own = part(1);
    launch(count_up, static_cast<unsigned>((rows_ + 255) / 256), 256, 0, on, own,
           static_cast<std::uint32_t>(rows_));
    std::size_t needed = 0, given = sort_bytes();
    check(sort(nullptr, needed, nullptr, nullptr, nullptr), "asking what a sort needs");
    require(needed <= given, "CUB needs " + std::to_string(needed) + " bytes to sort " +
                                 std::to_string(rows_) + " tokens, and is given " +
                                 std::to_string(given));
    check(sort(part(3), given, tokens, own, order, reinterpret_cast<std::int32_t*>(part(2)), on),
          "sorting tokens");
    return order;
  }

 private:
  // More than CUB needs: keys and values once more, and of each of its tiles, which have over 1024
  // of them, 256 counts of 4 bytes. CUB itself would be asked with a GPU in use, which the process
  // that plans has not.
  std::size_t sort_bytes() const { return 4 * array_bytes() + (std::size_t{1} << 20); }
  std::size_t array_bytes() const { return (rows_ * sizeof(std::uint32_t) + 255) / 256 * 256; }
  // Stable: CUB's documentation says so of all its radix sorts.
  cudaError_t sort(void* memory, std::size_t& bytes, const std::int32_t* tokens,
                   const std::uint32_t* own, std::uint32_t* order, std::int32_t* sorted = nullptr,
                   cudaStream_t on = nullptr) const {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, tokens, sorted, own, order,
                                           static_cast<int>(rows_), 0, 32, on);
  }
  std::size_t rows_;
};

// Which rows meet? Those of one token stand together in `order`; a group begins at its first.
struct ByToken {
  const std::int32_t* tokens;
  const std::uint32_t* order;
  std::size_t rows, vocabulary;
  static constexpr std::size_t none = ~std::size_t{0};
  __device__ std::size_t group(std::size_t p) const {
    const std::int32_t t = tokens[order[p]];
    const bool first = p == 0 || tokens[order[p - 1]] != t;
    return first && is_token(t, vocabulary) ? static_cast<std::size_t>(t) : none;
  }
  // The j-th row of the group that begins at p, or none.
  __device__ std::size_t row(std::size_t p, std::size_t j, std::size_t group) const {
    if (p + j >= rows) return none;
    const std::size_t r = order[p + j];
    return static_cast<std::size_t>(tokens[r]) == group ? r : none;
  }
};
struct ByPosition {
  std::size_t rows, sequence;
  static constexpr std::size_t none = ~std::size_t{0};
  __device__ std::size_t group(std::size_t p) const { return p; }
  __device__ std::size_t row(std::size_t p, std::size_t j, std::size_t) const {
    const std::size_t r = p + j * sequence;
    return r < rows ? r : none;
  }
};

// Block (p, c): the group that begins at p, if one does, in some columns. Several rows are on their
// way while the first is added.
template <class T, int n, class By>
__global__ void __launch_bounds__(128) add_groups(By by, const T* grad, T* to, std::size_t width) {
  const std::size_t p = blockIdx.x, group = by.group(p);
  const std::size_t i = (std::size_t{blockIdx.y} * blockDim.x + threadIdx.x) * n;
  if (group == By::none || i >= width) return;
  constexpr int ahead = 8;
  Floats<n> sum = load<n>(to + group * width + i);
  for (std::size_t j = 0;; j += ahead) {
    Pack<T, n> x[ahead]{};
    int count = 0;
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      const std::size_t r = by.row(p, j + static_cast<unsigned>(k), group);
      if (r == By::none) continue;
      x[k] = load_pack<n>(grad + r * width + i);
      ++count;
    }
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      if (k >= count) break;
      for (int e = 0; e < n; ++e) sum.at[e] += widened(x[k].at[e]);
    }
    if (count < ahead) break;
  }
  store<n>(to + group * width + i, sum);
}
template <class T, class By>
void add(const By& by, std::size_t groups, const T* grad, T* to, std::size_t width,
         const Launch& with) {
  constexpr int n = 4;  // each thread has rows of its own, and few of them
  const bool packs = rows_fit<n>(grad, width) && fits<n>(to);
  const std::size_t of_row = packs ? width / n : width;
  const unsigned threads = threads_for(of_row, 128);
  launch(
      packs ? add_groups<T, n, By> : add_groups<T, 1, By>,
      dim3(static_cast<unsigned>(groups), static_cast<unsigned>((of_row + threads - 1) / threads)),
      threads, 0, with.stream, by, grad, to, width);
}

template <class T>
__global__ void __launch_bounds__(256)
    one_hot(const std::int32_t* tokens, T* out, std::size_t width, std::size_t sequence,
            std::size_t context) {
  const std::size_t row = blockIdx.x, here = row % sequence + 1,
                    seen = context < here ? context : here;
  out += row * width;
  for (std::size_t i = threadIdx.x; i < width; i += blockDim.x) out[i] = narrowed<T>(0);
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (std::size_t j = 0; j < seen; ++j) {
    const std::int32_t token = tokens[row - j];
    const bool known = is_token(token, 256);
    T* at = out + (j * 256 + (known ? static_cast<std::size_t>(token) : 0)) % width;
    *at = narrowed<T>(known ? widened(*at) + 1 : __uint_as_float(0x7fc00000u));
  }
}

}  // namespace

void run_op(const Embed& o, const Launch& with) {
  const Operands is("embed", Space::device);
  const std::size_t w = o.width, rows = is.rows("out", o.out, w),
                    vocabulary = is.rows("table", o.table, w);
  if (o.positions) is.not_zero("sequence", o.sequence);
  with_type(is, "out", o.out, [&]<class T>() {
    const Embedding<T> a{is.in<std::int32_t>("tokens", o.tokens, rows),
                         is.in<T>("table", o.table, vocabulary * w),
                         is.maybe_in<T>("positions", o.positions, o.sequence * w),
                         is.out<T>("out", o.out, rows * w),
                         vocabulary,
                         w,
                         o.sequence};
    constexpr int n = width_of<T>;
    const bool packs = rows_fit<n>(a.table, w) && fits<n>(a.positions) && fits<n>(a.out);
    launch(packs ? embed<T, n> : embed<T, 1>, static_cast<unsigned>(rows),
           threads_for(packs ? w / n : w), 0, with.stream, a);
  });
}

std::size_t scratch_of(const EmbedBackward& o, const Launch&) {
  return o.table && o.width > 0 ? Order(o.grad.size() / o.width).scratch_bytes() : 0;
}

void run_op(const EmbedBackward& o, const Launch& with) {
  const Operands is("embed_backward", Space::device);
  const std::size_t w = o.width, rows = is.rows("grad", o.grad, w);
  is.scratch(o.scratch, scratch_of(o, with));
  with_type(is, "grad", o.grad, [&]<class T>() {
    const T* grad = is.in<T>("grad", o.grad, rows * w);
    if (o.table) {
      const std::size_t vocabulary = is.rows("table", o.table, w);
      const auto* tokens = is.in<std::int32_t>("tokens", o.tokens, rows);
      T* to = is.out<T>("table", o.table, vocabulary * w);
      const std::uint32_t* order = Order(rows).enqueue(tokens, o.scratch, with.stream);
      add(ByToken{tokens, order, rows, vocabulary}, rows, grad, to, w, with);
    }
    if (o.positions) {
      is.not_zero("sequence", o.sequence);
      T* to = is.out<T>("positions", o.positions, o.sequence * w);
      add(ByPosition{rows, o.sequence}, o.sequence < rows ? o.sequence : rows, grad, to, w, with);
    }
  });
}

void run_op(const OneHot& o, const Launch& with) {
  const Operands is("one_hot", Space::device);
  const std::size_t w = o.width, rows = is.rows("out", o.out, w);
  is.not_zero("sequence", o.sequence);
  with_type(is, "out", o.out, [&]<class T>() {
    launch(one_hot<T>, static_cast<unsigned>(rows), threads_for(w), 0, with.stream,
           is.in<std::int32_t>("tokens", o.tokens, rows), is.out<T>("out", o.out, rows * w), w,
           o.sequence, o.context);
  });
}

}  // namespace shardmark::cuda
