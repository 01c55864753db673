#pragma once
// The stand-in's cub::DeviceRadixSort: sorts on the stream, in the caller's memory. As there: the
// first call says how much that is.
#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/cuda/standin/runtime.hpp"

namespace cub {

struct DeviceRadixSort {
  template <class K, class V>
  static cudaError_t SortPairs(void* memory, std::size_t& bytes, const K* keys, K* sorted_keys,
                               const V* values, V* sorted_values, int n, int begin_bit, int end_bit,
                               cudaStream_t stream) {
    struct Pair {
      K key;
      V value;
    };
    const std::size_t needed = static_cast<std::size_t>(n) * sizeof(Pair);
    if (!memory) return bytes = needed, cudaSuccess;
    if (bytes < needed || begin_bit != 0 || end_bit != 8 * sizeof(K)) return cudaErrorInvalidValue;
    shardmark::standin::enqueue(stream, {.name = "sort"}, [=] {
      Pair* const pairs = static_cast<Pair*>(memory);
      for (int i = 0; i < n; ++i) pairs[i] = {keys[i], values[i]};
      std::stable_sort(pairs, pairs + n, [](Pair a, Pair b) { return a.key < b.key; });
      for (int i = 0; i < n; ++i) {
        sorted_keys[i] = pairs[i].key;
        sorted_values[i] = pairs[i].value;
      }
    });
    return cudaSuccess;
  }
};

}  // namespace cub
