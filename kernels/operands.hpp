#pragma once
// Does a view hold what an op needs of it, where the device can reach it? Each helper returns the
// elements, or throws one sentence that names the op, the operand, what it is and what it should be.
#include <string>

#include "elements.hpp"
#include "view.hpp"

namespace shardmark {

class Operands {
 public:
  // space: where the device that computes has its memory.
  Operands(const char* op, Space space) : op_(op), space_(space) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(std::string(op_) + ": " + what);
  }
  void need(bool ok, const std::string& what) const {
    if (!ok) fail(what);
  }
  void same_size(ConstView from, ConstView to) const {
    need(from && to && from.size() == to.size(),
         "from has " + std::to_string(from.size()) + " elements and to has " +
             std::to_string(to.size()) + ", but both must have the same number, at least 1");
  }

  // size elements of T.
  template <class T>
  const T* in(const char* name, ConstView v, std::size_t size) const {
    check(name, v, dtype_of<T>(), size);
    return reinterpret_cast<const T*>(v.address());
  }
  template <class T>
  T* out(const char* name, View v, std::size_t size) const {
    check(name, v, dtype_of<T>(), size);
    return reinterpret_cast<T*>(v.address());
  }
  // As above, or null where the view is empty.
  template <class T>
  const T* maybe_in(const char* name, ConstView v, std::size_t size) const {
    return v ? in<T>(name, v, size) : nullptr;
  }
  template <class T>
  T* maybe_out(const char* name, View v, std::size_t size) const {
    return v ? out<T>(name, v, size) : nullptr;
  }

  void scratch(View v, std::size_t bytes) const {
    if (bytes == 0 || (v.dtype() == DType::u8 && v.size() >= bytes)) return;
    fail("scratch has " + std::to_string(v.bytes()) + " bytes, but this shape needs " +
         std::to_string(bytes) + " elements of u8");
  }

  void not_zero(const char* name, std::size_t n) const {
    if (n == 0) fail(std::string(name) + " is 0, but it must be at least 1");
  }
  // How many rows of `width` the view has.
  std::size_t rows(const char* name, ConstView v, std::size_t width) const {
    not_zero("the width of a row", width);
    if (!v || v.size() % width != 0) {
      fail(std::string(name) + " has " + std::to_string(v.size()) +
           " elements, but it must have whole rows of " + std::to_string(width) +
           " and at least one");
    }
    return v.size() / width;
  }

  void here(const char* name, ConstView v) const {
    if (v.space() == space_) return;
    fail(std::string(name) + (space_ == Space::host
                                  ? " is not in host memory, where the cpu device computes"
                                  : " is not in device memory, where the GPU computes"));
  }
  void check(const char* name, ConstView v, DType dtype, std::size_t size) const {
    if (v.size() == size && v.dtype() == dtype && v.space() == space_ && size > 0) return;
    const std::string wanted =
        std::to_string(size) + " elements of " + std::string(shardmark::name(dtype));
    if (size == 0)
      fail(std::string(name) + " is asked for with 0 elements, but an op needs at least 1");
    if (!v) fail(std::string(name) + " is empty, but it must have " + wanted);
    here(name, v);
    fail(std::string(name) + " has " + std::to_string(v.size()) + " elements of " +
         std::string(shardmark::name(v.dtype())) + ", but it must have " + wanted);
  }

 private:
  const char* op_;
  Space space_;
};

// The types that parameters, activations and gradients may have.
constexpr bool is_carrier(DType t) {
  return t == DType::f32 || t == DType::bf16 || t == DType::f16;
}

// f with T, the element type of an op's parameters, activations and gradients: that of the operand
// `name`; its others are then asked for as T.
template <class F>
void with_type(const Operands& is, const char* name, ConstView v, F&& f) {
  switch (v.dtype()) {
    case DType::f32:
      return f.template operator()<float>();
    case DType::bf16:
      return f.template operator()<Bf16>();
    case DType::f16:
      return f.template operator()<F16>();
    default:
      is.fail(std::string(name) + " has elements of " + std::string(shardmark::name(v.dtype())) +
              ", but they must be f32, bf16 or f16");
  }
}

// What ClipControl touches; without squares its norm is neither known nor written.
inline Clipping clipping_of(const Operands& is, const ClipControl& o) {
  is.need(o.clip >= 0,
          "clip is " + std::to_string(o.clip) + ", but it must be positive, or 0 not to clip");
  Clipping c{.squares = is.maybe_out<double>("squares", o.squares, o.squares.size()),
             .size = o.squares.size(),
             .control = is.out<float>("control", o.control, control_slots),
             .history = nullptr,
             .clip = o.clip,
             .scaling = o.scaling.value_or(LossScaling{}),
             .scales = o.scaling.has_value()};
  if (o.history && o.squares) {
    is.need(3 * o.at + 2 < o.history.size(),
            "entry " + std::to_string(o.at) + " lies behind the end of history");
    c.history = is.out<double>("history", o.history, o.history.size()) + 3 * o.at;
  }
  return c;
}

}  // namespace shardmark
