#pragma once
// Where do measurements get their memory? From here: on huge pages where the machine has them, as a
// rank's own memory is, and written once, so that it is really there.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "kernels/view.hpp"

namespace shardmark::cpu {

class Block {
 public:
  Block(std::size_t size, DType dtype) {
    constexpr std::size_t line = 64, huge_page = std::size_t{2} << 20;
    const std::size_t bytes = size * size_of(dtype), unit = bytes < huge_page ? line : huge_page;
    const std::size_t reserved = (bytes / unit + 1) * unit;
    data_.reset(std::aligned_alloc(unit, reserved));
    require(data_ != nullptr,
            "there is no memory for a measurement of " + std::to_string(bytes) + " bytes");
#if defined(MADV_HUGEPAGE)
    if (unit == huge_page) madvise(data_.get(), reserved, MADV_HUGEPAGE);  // only a wish
#endif
    std::memset(data_.get(), 0, reserved);
    view_ = View(reinterpret_cast<std::uintptr_t>(data_.get()), size, dtype, Space::host);
  }
  View view() const { return view_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> data_;
  View view_;
};

}  // namespace shardmark::cpu
