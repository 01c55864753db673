// How much memory does a stand-in GPU have, and where is it? Host memory, counted by GPU, that
// starts as NaNs and ends exactly where it was asked to.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "machine.hpp"
#include "runtime.hpp"

namespace {

using shardmark::CuptiStandin;
using shardmark::standin::current_gpu;
using shardmark::standin::Machine;
using shardmark::standin::machine;

void* aligned(std::size_t bytes) {
  void* at = nullptr;
  if (posix_memalign(&at, 256, std::max<std::size_t>(bytes, 1))) return nullptr;
  std::memset(at, 0xff, bytes);
  return at;
}

}  // namespace

cudaError_t cudaSetDevice(int gpu) {
  if (machine().error) return machine().error;
  if (gpu < 0 || gpu >= machine().gpus) return cudaErrorInvalidDevice;
  current_gpu() = gpu;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* gpu) {
  *gpu = current_gpu();
  return machine().error;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  Machine& m = machine();
  const std::lock_guard lock(m.mutex);
  *total = m.memory;
  *free = m.memory - m.used[static_cast<std::size_t>(current_gpu())];
  return m.sticky;
}

cudaError_t cudaMalloc(void** at, std::size_t bytes) {
  if (machine().memory_waits) shardmark::standin::wait_for_all_gpus();
  return shardmark::standin::take_memory(at, bytes);
}

cudaError_t shardmark::standin::take_memory(void** at, std::size_t bytes) {
  Machine& m = machine();
  const std::lock_guard lock(m.mutex);
  std::size_t& used = m.used[static_cast<std::size_t>(current_gpu())];
  if (bytes > m.memory - used) return cudaErrorMemoryAllocation;
  if (!(*at = aligned(bytes))) return cudaErrorMemoryAllocation;
  used += bytes;
  m.device_memory[*at] = {current_gpu(), bytes};
  return m.sticky;
}

cudaError_t cudaFree(void* at) {
  if (!at) return cudaSuccess;
  Machine& m = machine();
  const std::lock_guard lock(m.mutex);
  const auto it = m.device_memory.find(at);
  if (it == m.device_memory.end()) return cudaErrorInvalidValue;
  m.used[static_cast<std::size_t>(it->second.first)] -= it->second.second;
  m.device_memory.erase(it);
  std::free(at);
  return cudaSuccess;
}

cudaError_t cudaMallocManaged(void** at, std::size_t bytes, unsigned) {
  return cudaMalloc(at, bytes);
}

cudaError_t cudaMallocHost(void** at, std::size_t bytes) {
  Machine& m = machine();
  if (m.memory_waits) shardmark::standin::wait_for_all_gpus();
  if (!(*at = aligned(bytes))) return cudaErrorMemoryAllocation;
  const std::lock_guard lock(m.mutex);
  m.pinned[*at] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* at) {
  Machine& m = machine();
  const std::lock_guard lock(m.mutex);
  if (!m.pinned.erase(at)) return cudaErrorInvalidValue;
  std::free(at);
  return cudaSuccess;
}

namespace {

bool is_pinned(const void* at) {
  Machine& m = machine();
  const std::lock_guard lock(m.mutex);
  auto it = m.pinned.upper_bound(at);
  if (it == m.pinned.begin()) return false;
  --it;
  return at < static_cast<const char*>(it->first) + it->second;
}

}  // namespace

// Pageable memory of the host has been read when the call returns; pinned memory is read whenever
// the stream comes to it (CUDA's documentation, API synchronization behavior).
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const CuptiStandin::Work work{.what = CuptiStandin::What::copy, .bytes = bytes};
  if (kind == cudaMemcpyHostToDevice && !is_pinned(from)) {
    const auto* at = static_cast<const char*>(from);
    shardmark::standin::enqueue(stream, work, [to, copy = std::string(at, at + bytes)] {
      std::memcpy(to, copy.data(), copy.size());
    });
  } else {
    shardmark::standin::enqueue(stream, work, [=] { std::memcpy(to, from, bytes); });
  }
  return machine().sticky;
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  shardmark::standin::enqueue(stream, {.what = CuptiStandin::What::set, .bytes = bytes},
                              [=] { std::memset(to, value, bytes); });
  return machine().sticky;
}
