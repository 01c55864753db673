#include "device.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "kernels/cpu/math.hpp"

namespace shardmark {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20, line = 64;

// Large buffers start on a huge page, so that the kernel can back them with huge pages where it has
// them.
std::uintptr_t take_pages(std::size_t bytes) {
  const std::size_t reserved = bytes + huge_page;
  void* const at =
      mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const std::uintptr_t aligned = (begin + huge_page - 1) / huge_page * huge_page;
  if (aligned > begin) munmap(at, aligned - begin);
  if (const std::uintptr_t end = begin + reserved; end > aligned + bytes)
    munmap(reinterpret_cast<void*>(aligned + bytes), end - aligned - bytes);
  madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);
  return aligned;
}

std::size_t rounded(std::size_t bytes) {
  const std::size_t grain = bytes >= huge_page ? 4096 : line;
  return (std::max<std::size_t>(bytes, 1) + grain - 1) / grain * grain;
}

std::uintptr_t take(std::size_t bytes) {
  if (bytes >= huge_page) return take_pages(bytes);
  void* const at = std::aligned_alloc(line, bytes);
  if (!at) throw std::bad_alloc();
  return reinterpret_cast<std::uintptr_t>(at);
}

void give(std::uintptr_t at, std::size_t bytes) {
  if (bytes >= huge_page)
    munmap(reinterpret_cast<void*>(at), bytes);
  else
    std::free(reinterpret_cast<void*>(at));
}

}  // namespace

CpuArena::~CpuArena() {
  free_.each([](std::uintptr_t at, std::size_t bytes) { give(at, bytes); });
}

View CpuArena::do_alloc(std::size_t size, DType dtype, Event& free) {
  const std::size_t bytes = rounded(size * size_of(dtype));
  if (const auto again = free_.take(bytes)) {
    free = again->after;
    return {again->address, size, dtype, Space::host};
  }
  return {take(bytes), size, dtype, Space::host};
}

void CpuArena::do_free(View v, Event after) { free_.put(rounded(v.bytes()), {v.address(), after}); }

CpuDevice::CpuDevice(CpuOptions o) {
  context_.record = o.record;
  context_.threads = o.threads;
  context_.poll = std::move(o.poll);
  context_.on_error = std::move(o.on_error);
  context_.on_span = std::move(o.on_span);
  context_.wait_for = [this](Event e) {
    compute_->wait_for(e.ticket(0));
    if (comm_) comm_->wait_for(e.ticket(1));
  };
  if (o.late_us > 0)
    compute_ = std::make_unique<WorkerQueue>(context_, 0, o.spin_ns, o.late_us);
  else
    compute_ = std::make_unique<InlineQueue>(context_, 0, o.spin_ns);
  if (o.overlap) comm_ = std::make_unique<WorkerQueue>(context_, 1, o.spin_ns, o.late_us);
}

// The workers end before each other's counters, and the memory that their last ops may touch, go
// away.
CpuDevice::~CpuDevice() {
  compute_->stop();
  if (comm_) comm_->stop();
}

void CpuDevice::drain() {
  compute_->wait_for(compute_->enqueued());
  if (comm_) comm_->wait_for(comm_->enqueued());
}

std::size_t CpuDevice::scratch_bytes(const Matmul& product) const {
  return cpu::scratch_bytes(product, context_.threads);
}

}  // namespace shardmark
