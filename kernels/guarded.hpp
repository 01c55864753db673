#pragma once
// What do tests give to ops, and how near must a result be? Memory with guards around it, in every
// element type; numbers of 2 bytes from their definition (IEEE 754), sharing nothing with the
// kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/op.hpp"
#include "kernels/targets.hpp"

namespace shardmark::testing {

using Values = std::vector<double>;

template <class T>
constexpr bool has_two_bytes = std::is_same_v<T, Bf16> || std::is_same_v<T, F16>;

// Bits of fraction and the bias of the exponent.
struct Format {
  int fraction, bias;
};
template <class T>
constexpr Format format_of = std::is_same_v<T, Bf16> ? Format{7, 127} : Format{10, 15};

inline double value_of(std::uint16_t h, Format f) {
  const int fraction = h & ((1 << f.fraction) - 1), exponent = (h & 0x7fff) >> f.fraction,
            top = (0x7fff >> f.fraction);
  const double sign = h & 0x8000 ? -1 : 1;
  if (exponent == top) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - f.bias - f.fraction);
  return sign * std::ldexp((1 << f.fraction) + fraction, exponent - f.bias - f.fraction);
}
// How far the numbers around x stand apart.
inline double gap_at(double x, Format f) {
  const int exponent = x == 0 ? 1 - f.bias : std::max(std::ilogb(x), 1 - f.bias);
  return std::ldexp(1, exponent - f.fraction);
}
// The nearest number, of two the one whose last bit is 0.
inline std::uint16_t nearest(double x, Format f) {
  const unsigned sign = std::signbit(x) ? 0x8000 : 0,
                 infinite = 0x7fffu >> f.fraction << f.fraction;
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | infinite | 1u << (f.fraction - 1));
  if (std::isinf(x)) return static_cast<std::uint16_t>(sign | infinite);
  // Numbers of one sign are numbered in their order, and so are the gaps below them.
  const double gap = gap_at(x, f);
  const int exponent = x == 0 ? 1 - f.bias : std::max(std::ilogb(x), 1 - f.bias);
  const auto steps = static_cast<unsigned>(std::nearbyint(std::fabs(x) / gap));
  const unsigned number = (static_cast<unsigned>(exponent + f.bias - 1) << f.fraction) + steps;
  return static_cast<std::uint16_t>(sign | std::min(number, infinite));
}

// A double as an element, and back.
template <class T>
T element(double x) {
  if constexpr (has_two_bytes<T>) {
    return {nearest(x, format_of<T>)};
  } else {
    return static_cast<T>(x);
  }
}
template <class T>
double number(T x) {
  if constexpr (has_two_bytes<T>) {
    return value_of(x.bits, format_of<T>);
  } else {
    return static_cast<double>(x);
  }
}

// n elements of T where the target in use computes, with guards in front and behind, starting `shift`
// elements off a line.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::size_t n, std::size_t shift = 0)
      : size_(n),
        space_(space_in_use()),
        memory_(memory_in_use((n + 2 * guard + shift + line) * sizeof(T))),
        all_(static_cast<T*>(memory_.get()), n + 2 * guard + shift + line) {
    std::fill(all_.begin(), all_.end(), element<T>(77));
    auto at = reinterpret_cast<std::uintptr_t>(all_.data() + guard);
    at = (at + 63) / 64 * 64;
    data_ = reinterpret_cast<T*>(at) + shift;
  }
  Guarded(const Values& from, std::size_t shift = 0) : Guarded(from.size(), shift) {
    for (std::size_t i = 0; i < size_; ++i) data_[i] = element<T>(from[i]);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() {
    for (const T* p = all_.data(); p < data_; ++p)
      EXPECT_EQ(number(*p), 77) << "written in front of an operand";
    for (const T* p = data_ + size_; p < all_.data() + all_.size(); ++p)
      EXPECT_EQ(number(*p), 77) << "written behind an operand";
  }
  View view() const {
    return {reinterpret_cast<std::uintptr_t>(data_), size_, dtype_of<T>(), space_};
  }
  operator View() const { return view(); }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::size_t size() const { return size_; }
  std::span<T> span() { return {data_, size_}; }
  Values values() const {
    Values x;
    for (std::size_t i = 0; i < size_; ++i) x.push_back(number(data_[i]));
    return x;
  }

 private:
  static constexpr std::size_t guard = 32, line = 64;
  std::size_t size_;
  Space space_;
  std::shared_ptr<void> memory_;
  std::span<T> all_;
  T* data_;
};

// Runs the op with exactly the scratch that it asks for.
template <class O>
void run_with_scratch(O o, int threads) {
  const Guarded<std::uint8_t> scratch(scratch_bytes(o, threads));
  o.scratch = scratch;
  run(o, threads);
}

// Uniform in [-1, 1], rounded to T so that reference and kernel start from the same numbers.
template <class T = float>
Values random_values(std::size_t n, unsigned seed, double scale = 1) {
  std::mt19937 generator(seed);
  Values x(n);
  for (double& v : x) v = number(element<T>(scale * (generator() / 2147483648.0 - 1)));
  return x;
}
// The same in [0.5, 1]: sums that only grow, so that one kept in 2 bytes would soon stand still.
template <class T = float>
Values growing_values(std::size_t n, unsigned seed) {
  Values x = random_values(n, seed);
  for (double& v : x) v = number(element<T>(0.75 + v / 4));
  return x;
}

// tolerance: of arithmetic in f32; numbers of 2 bytes may be rounded once beside.
template <class T>
void expect_near(const Guarded<T>& got, const Values& want, double tolerance, const char* what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) {
    double near = tolerance * (1 + std::fabs(want[i]));
    if constexpr (has_two_bytes<T>) near += gap_at(want[i], format_of<T>) / 2;
    ASSERT_NEAR(number(got[i]), want[i], near) << what << " element " << i;
  }
}

// f in each type that parameters, activations and gradients may have.
template <class F>
void in_every_type(F&& f) {
  const auto in = [&]<class T>() {
    SCOPED_TRACE(name(dtype_of<T>()));
    f.template operator()<T>();
  };
  in.template operator()<float>();
  in.template operator()<Bf16>();
  in.template operator()<F16>();
}

}  // namespace shardmark::testing
