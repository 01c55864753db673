#pragma once
// How do tests hold an operand whose elements may have 2 bytes, and how far may a result be off? As
// the numbers it stands for, in double; rounding is done here from its definition.
#include "kernels/ops_reference.hpp"

namespace shardmark::testing {

// Binary digits, the leading one included, and the exponent of the least normal number.
template <class T>
struct Format;
template <>
struct Format<float> {
  static constexpr int digits = 24, least = -126;
};
template <>
struct Format<Bf16> {
  static constexpr int digits = 8, least = -126;
};
template <>
struct Format<F16> {
  static constexpr int digits = 11, least = -14;
};
// Half a unit in the last place of 1, relative to 1.
template <class T>
inline const double unit_roundoff = std::ldexp(1.0, -Format<T>::digits);

template <class T>
Values rounded(Values x) {
  for (double& v : x) {
    if (!std::isfinite(v)) continue;
    const int exponent = std::max(v == 0 ? 0 : std::ilogb(v), Format<T>::least);
    const double unit = std::ldexp(1.0, exponent + 1 - Format<T>::digits);
    v = std::nearbyint(v / unit) * unit;
  }
  return x;
}

// A finite number of the format, and its bits.
template <class T>
std::uint16_t encoded(double x) {
  using F = Format<T>;
  const double size = std::fabs(x);
  const int exponent = std::max(size == 0 ? F::least : std::ilogb(size), F::least);
  // In units of the last place: the fraction, and the leading one adds 1 to the exponent before it.
  const auto fraction = static_cast<int>(std::ldexp(size, F::digits - 1 - exponent));
  const int magnitude = ((exponent - F::least) << (F::digits - 1)) + fraction;
  return static_cast<std::uint16_t>(magnitude | (std::signbit(x) ? 0x8000 : 0));
}
template <class T>
double decoded(std::uint16_t bits) {
  using F = Format<T>;
  const int magnitude = bits & 0x7fff, field = magnitude >> (F::digits - 1);
  const int fraction = magnitude & ((1 << (F::digits - 1)) - 1);
  const bool normal = field > 0;
  const double size = std::ldexp(fraction + (normal ? 1 << (F::digits - 1) : 0),
                                 F::least + (normal ? field - 1 : 0) + 1 - F::digits);
  return bits & 0x8000 ? -size : size;
}

// Elements of T with guards around them, starting `shift` elements off a line.
template <class T>
class Operand {
  static constexpr bool is_f32 = std::is_same_v<T, float>;
  using Stored = std::conditional_t<is_f32, float, std::uint16_t>;

 public:
  explicit Operand(const Values& from, std::size_t shift = 0) : memory_(from.size(), shift) {
    const Values exact = rounded<T>(from);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if constexpr (is_f32) {
        memory_[i] = static_cast<float>(exact[i]);
      } else {
        memory_[i] = encoded<T>(exact[i]);
      }
    }
  }
  operator View() const {
    return {reinterpret_cast<std::uintptr_t>(&memory_[0]), memory_.size(), dtype_of<T>(),
            Space::host};
  }
  Values values() const {
    Values v(memory_.size());
    for (std::size_t i = 0; i < v.size(); ++i) {
      if constexpr (is_f32) {
        v[i] = static_cast<double>(memory_[i]);
      } else {
        v[i] = decoded<T>(memory_[i]);
      }
    }
    return v;
  }

 private:
  Guarded<Stored> memory_;
};

// Wrong by one rounding of the result, and by `tolerance` of the arithmetic in f32.
template <class T>
void expect_rounded(const Operand<T>& got, const Values& want, double tolerance, const char* what) {
  const Values values = got.values();
  ASSERT_EQ(values.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double size = std::fabs(want[i]);
    ASSERT_NEAR(values[i], want[i], tolerance * (1 + size) + unit_roundoff<T> * size)
        << what << " element " << i;
  }
}

// Two results in double.
inline void expect_all_near(const Values& got, const Values& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got[i], want[i], 1e-7 * (1 + std::fabs(want[i])));
}

// f with each type that parameters, activations and gradients may have.
template <class F>
void in_each_type(F&& f) {
  {
    SCOPED_TRACE("f32");
    f.template operator()<float>();
  }
  {
    SCOPED_TRACE("bf16");
    f.template operator()<Bf16>();
  }
  {
    SCOPED_TRACE("f16");
    f.template operator()<F16>();
  }
}

}  // namespace shardmark::testing
