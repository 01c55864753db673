#pragma once
// How do threads read and write neighbours? Packs of up to 16 bytes an access, as f32 while they
// are computed with; one by one where an operand stands off such a multiple.
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/numbers.cuh"

namespace shardmark::cuda {

template <class T, int n>
struct alignas(n * sizeof(T) < 16 ? n * sizeof(T) : 16) Pack {
  T at[n];
};
template <int n>
struct Floats {
  float at[n];
};
// Elements of 16 bytes.
template <class T>
constexpr int width_of = 16 / static_cast<int>(sizeof(T));

template <int n, class T>
__device__ Pack<T, n> load_pack(const T* p) {
  return *reinterpret_cast<const Pack<T, n>*>(p);
}
template <int n, class T>
__device__ void store_pack(T* p, const Pack<T, n>& x) {
  *reinterpret_cast<Pack<T, n>*>(p) = x;
}
template <class T, int n>
__device__ Floats<n> widened(const Pack<T, n>& x) {
  Floats<n> v;
#pragma unroll
  for (int i = 0; i < n; ++i) v.at[i] = widened(x.at[i]);
  return v;
}
template <int n, class T>
__device__ Floats<n> load(const T* p) {
  return widened(load_pack<n>(p));
}
template <int n, class T>
__device__ void store(T* p, const Floats<n>& v) {
  Pack<T, n> x;
#pragma unroll
  for (int i = 0; i < n; ++i) x.at[i] = narrowed<T>(v.at[i]);
  store_pack<n>(p, x);
}
// f of each element, and of its number within the pack.
template <int n, class F>
__device__ Floats<n> each_of(F&& f) {
  Floats<n> v;
#pragma unroll
  for (int i = 0; i < n; ++i) v.at[i] = f(i);
  return v;
}

// Whether packs of n can be read and written there; nothing can anywhere.
template <int n, class T>
bool fits(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % alignof(Pack<T, n>) == 0;
}
// The same for every row of `columns`.
template <int n, class T>
bool rows_fit(const T* p, std::size_t columns) {
  return columns % n == 0 && fits<n>(p);
}

// Threads for one row of so many packs: whole warps.
inline unsigned threads_for(std::size_t packs, unsigned most = 256) {
  const std::size_t warps = (packs + 31) / 32;
  return static_cast<unsigned>(warps * 32 < most ? (warps ? warps * 32 : 32) : most);
}

// One turn of all threads over n elements: f.at<width>(i) for each pack of them, f.at<1>(i) for the
// few behind.
template <int width, class F>
__global__ void __launch_bounds__(256) each_pack(std::size_t n, F f) {
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x,
                    threads = std::size_t{gridDim.x} * blockDim.x, packs = n / width;
  for (std::size_t i = thread; i < packs; i += threads) f.template at<width>(i * width);
  if (width > 1 && packs * width + thread < n) f.template at<1>(packs * width + thread);
}
// packs: whether all of its operands fit packs of `width`.
template <int width, class F>
void over_elements(std::size_t n, bool packs, const F& f, const Launch& with) {
  constexpr unsigned threads = 256, blocks_a_multiprocessor = 8;  // all that it can hold
  const std::size_t wanted = (n / (packs ? width : 1) + threads - 1) / threads,
                    most = static_cast<std::size_t>(with.multiprocessors) * blocks_a_multiprocessor;
  const auto blocks = static_cast<unsigned>(wanted < 1 ? 1 : wanted < most ? wanted : most);
  if (packs)
    launch(each_pack<width, F>, blocks, threads, 0, with.stream, n, f);
  else
    launch(each_pack<1, F>, blocks, threads, 0, with.stream, n, f);
}

}  // namespace shardmark::cuda
