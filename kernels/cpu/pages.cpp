#include "pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace shardmark::cpu {
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

}  // namespace

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

}  // namespace shardmark::cpu
