#pragma once
// What is a piece of memory? Typed, sized, located; owns nothing. There is no raw pointer with a
// count beside it anywhere above kernels/: a byte count passed as an element count cannot be
// written.
#include <span>

#include "error.hpp"
#include "half.hpp"
#include "profilers/words.hpp"

namespace shardmark {

enum class Space : std::uint8_t {
  host,
  device,
  nowhere
};  // nowhere: the dry device; counted, not backed

struct Range {
  std::size_t begin = 0, size = 0;  // elements
};

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, Bf16>) return DType::bf16;
  if constexpr (std::is_same_v<T, F16>) return DType::f16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::u8;
}

// Empty means "not here": an op that is given an empty weight says so.
class ConstView {
 public:
  ConstView() = default;
  ConstView(std::uintptr_t address, std::size_t size, DType dtype, Space space)
      : address_(address), size_(size), dtype_(dtype), space_(space) {}
  std::size_t size() const { return size_; }  // elements
  std::size_t bytes() const { return size_ * size_of(dtype_); }
  DType dtype() const { return dtype_; }
  Space space() const { return space_; }
  std::uintptr_t address() const { return address_; }
  explicit operator bool() const { return size_ != 0; }
  ConstView slice(Range r) const {
    require(r.begin <= size_ && r.size <= size_ - r.begin, "a slice lies outside of its view");
    return {address_ + r.begin * size_of(dtype_), r.size, dtype_, space_};
  }
  template <class T>
  std::span<const T> host() const {
    check_host(dtype_of<T>());
    return {reinterpret_cast<const T*>(address_), size_};
  }

 protected:
  void check_host(DType wanted) const {
    require(size_ == 0 || space_ == Space::host,
            "memory that is not the host's was read by the host");
    require(size_ == 0 || dtype_ == wanted, std::string("a view of ") + std::string(name(dtype_)) +
                                                " was used as " + std::string(name(wanted)));
  }

 private:
  std::uintptr_t address_ = 0;
  std::size_t size_ = 0;
  DType dtype_ = DType::f32;
  Space space_ = Space::nowhere;
};

class View : public ConstView {
 public:
  using ConstView::ConstView;
  View slice(Range r) const {
    const ConstView v = ConstView::slice(r);
    return {v.address(), v.size(), v.dtype(), v.space()};
  }
  template <class T>
  std::span<T> host() const {
    check_host(dtype_of<T>());
    return {reinterpret_cast<T*>(address()), size()};
  }
};

using Views = std::span<const View>;  // one a parameter, by parameter number; empty = not here

}  // namespace shardmark
