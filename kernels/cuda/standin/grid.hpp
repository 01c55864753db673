#pragma once
// How does the processor play the grid of a kernel? Block by block, on the stream's thread; each
// thread of a block is a fiber that runs until it must wait for others. Which one goes first changes
// from wait to wait, so that a barrier that was forgotten shows, and shared memory is all NaN when a
// block starts.
#include <cuda_runtime_api.h>

#include <functional>
#include <type_traits>

namespace shardmark::standin {

struct Block {
  dim3 index, threads, blocks;
  void* dynamic;  // shared memory, as many bytes as were asked for
};
struct Position {
  dim3 thread;
  const Block* block = nullptr;
};
// Of the fiber that runs on the calling thread.
inline const Position*& here() {
  static thread_local constinit const Position* at = nullptr;
  return at;
}

struct Configuration {
  dim3 blocks, threads;
  std::size_t dynamic_bytes = 0;
};
// Runs the body once for each thread of the grid. Throws Error where a GPU would hang or behave as
// nobody knows: threads that wait for others that have ended, a warp that is not complete.
void run_grid(const Configuration&, const std::function<void()>& body);

// __syncthreads: every thread of the block.
void wait_for_block();
// The lanes of the mask meet; the action is then done once, with what each of them brought (null for
// those outside of the mask), and all go on. what: the name of the operation, which must be the same
// for all.
using Together = void (*)(void* const* of_lane, unsigned mask);
void wait_for_warp(unsigned mask, void* mine, Together action, const char* what);
unsigned lane();  // within its warp

// Shared memory of the kernels that this thread runs: NaN before each block.
void poisoned_before_each_block(void* at, std::size_t bytes);

template <class T>
struct Shuffle {
  T value, result;
  int from;  // lane; the caller's own value where that is outside of the mask
};
template <class T>
T shuffled(unsigned mask, T value, int from, const char* what) {
  static_assert(std::is_trivially_copyable_v<T>);
  Shuffle<T> mine{value, value, from};
  wait_for_warp(
      mask, &mine,
      [](void* const* of_lane, unsigned) {
        for (int i = 0; i < 32; ++i) {
          if (auto* s = static_cast<Shuffle<T>*>(of_lane[i]); s && of_lane[s->from])
            s->result = static_cast<Shuffle<T>*>(of_lane[s->from])->value;
        }
      },
      what);
  return mine.result;
}

}  // namespace shardmark::standin
