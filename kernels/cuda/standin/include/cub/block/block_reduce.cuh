#pragma once
// The stand-in's cub::BlockReduce: the threads of a block bring a value each, and thread 0 has the
// result. As there: between two uses of the same storage stands a barrier.
#include <cuda_runtime.h>

namespace cub {

template <class T, int threads>
class BlockReduce {
 public:
  struct TempStorage {
    T of_thread[threads];
    TempStorage() { shardmark::standin::poisoned_before_each_block(this, sizeof *this); }
  };
  explicit BlockReduce(TempStorage& storage) : storage_(storage) {}

  template <class F>
  T Reduce(T value, F f) {
    storage_.of_thread[threadIdx.x] = value;
    __syncthreads();
    T all = storage_.of_thread[0];
    for (int i = 1; i < threads && threadIdx.x == 0; ++i) all = f(all, storage_.of_thread[i]);
    return all;
  }
  T Sum(T value) {
    return Reduce(value, [](T a, T b) { return a + b; });
  }

 private:
  TempStorage& storage_;
};

}  // namespace cub
