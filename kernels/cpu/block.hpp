#pragma once
// Where do measurements get their memory? As a rank's own, and written once, so that it is really
// there.
#include <cstring>
#include <utility>

#include "kernels/cpu/pages.hpp"
#include "kernels/view.hpp"

namespace shardmark::cpu {

class Block {
 public:
  Block(std::size_t size, DType dtype)
      : bytes_(rounded(size * size_of(dtype))), view_(take(bytes_), size, dtype, Space::host) {
    std::memset(reinterpret_cast<void*>(view_.address()), 0, bytes_);
  }
  Block(Block&& o) noexcept : bytes_(std::exchange(o.bytes_, 0)), view_(o.view_) {}
  Block& operator=(Block&&) = delete;
  ~Block() {
    if (bytes_) give(view_.address(), bytes_);
  }
  View view() const { return view_; }

 private:
  std::size_t bytes_;
  View view_;
};

}  // namespace shardmark::cpu
