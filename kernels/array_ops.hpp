#pragma once
// What can be done to arrays of elements, whatever they mean? Copies, sums, first values, and the
// passes of the optimizer. See op.hpp.
#include <array>
#include <optional>

#include "view.hpp"

namespace shardmark {

// What an op touches; something that is read and written stands under writes.
struct Access {
  std::array<ConstView, 8> reads;
  std::array<View, 5> writes;
  double bytes() const {
    double total = 0;
    for (const ConstView& v : reads) total += static_cast<double>(v.bytes());
    for (const View& v : writes) total += static_cast<double>(v.bytes());
    return total;
  }
};

struct Clear {
  View to;
  Access access() const { return {{}, {to}}; }
};
// Copies; converts where the types differ.
struct Cast {
  ConstView from;
  View to;
  Access access() const { return {{from}, {to}}; }
};
struct Add {
  ConstView from;
  View to;  // adds; of the same type, or f32 to or from a 2-byte one
  Access access() const { return {{from}, {to}}; }
};

// The sum over ranks, in their order: to = (from[0] + from[1] + ...) * factor, in f32 and rounded
// once; `to` may be one of them. Bit for bit the same on every device, wherever an element stands.
struct SumRanks {
  std::array<ConstView, 8> from;  // empty ones at the end: fewer ranks
  View to;
  double factor = 1;
  std::size_t ranks() const {
    std::size_t n = 0;
    while (n < from.size() && from[n]) ++n;
    return n;
  }
  Access access() const { return {from, {to}}; }
};

// How a parameter starts. bell: mean 0, standard deviation `scale`, the sum of four 16-bit uniforms
// (Irwin-Hall), exact in integers up to the last multiplication and so the same on every device.
struct Init {
  enum class Kind : std::uint8_t { constant, bell } kind = Kind::constant;
  float scale = 0;
};
// Element i of `to` becomes a function of (seed, stream, offset + i): a rank fills its cut without
// holding the whole.
struct Fill {
  View to;
  Init init;
  std::uint64_t seed = 0, stream = 0, offset = 0;
  Access access() const { return {{}, {to}}; }
};

// Each of the totals += the sum of squares of its part of x, which are as many equal ones,
// accumulated in double, in an order that depends on the part's size alone.
struct SumSquares {
  ConstView x;
  View total;  // f64[parts], adds
  Access access() const { return {{x}, {total}}; }
};

// The scalars that a step reads on the device; the host reads nothing back inside a step.
enum class ControlSlot : std::uint8_t { coefficient, skip, step, loss_scale, good_steps };
inline constexpr std::size_t control_slots = 5;  // f32 each
// Dynamic loss scaling (Micikevicius et al. 2018, section 3.2): gradients are computed times the
// scale, so that small ones do not vanish in f16. A step whose gradients overflowed is skipped and
// halves the scale, `window` good ones in a row double it.
struct LossScaling {
  float initial = 65536, floor = 1;
  bool operator==(const LossScaling&) const = default;
  int window = 2000;  // steps
};
// From the squared norm of the scaled gradients (the sum over squares, in order): norm = root /
// loss_scale; the coefficient min(1, clip / (norm + 1e-6)) / loss_scale; skip = 1 if the norm is
// not finite, and step += 1 unless skipped; then the scale of the next step. squares may be empty:
// no skip, and the coefficient 1 / loss_scale. history is f64[3 * steps], may be empty: entry `at`
// gets the norm before and after clipping, and the scale that the step's gradients had. Resets
// squares to 0.
struct ClipControl {
  View squares;  // f64[any]
  View control;  // f32[control_slots]
  View history;  // f64[3 * steps]
  std::size_t at = 0;
  double clip = 0;                     // 0: do not clip
  std::optional<LossScaling> scaling;  // none: the scale stays as it is
  Access access() const { return {{}, {squares, control, history}}; }
};

struct AdamParameters {
  float lr = 1e-3f, beta1 = 0.9f, beta2 = 0.95f, epsilon = 1e-8f, decay = 0.01f;
};
// AdamW (Loshchilov and Hutter 2019, algorithm 2), one pass: g = coefficient * grad; m = b1 m + (1
// - b1) g; v = b2 v + (1 - b2) g^2; w -= lr (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay
// w). Element by element, bit for bit the same wherever an element stands in the view.
struct AdamW {
  View weight;
  View master;  // f32, what is updated and then rounded into weight; empty where weight is f32
  ConstView grad;
  View first, second;  // f32
  ConstView control;   // f32[control_slots]
  AdamParameters with;
  Access access() const { return {{grad, control}, {weight, master, first, second}}; }
};

}  // namespace shardmark
