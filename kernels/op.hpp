#pragma once
// What can a device be told to do? An op is data: what it reads, what it writes, and its shape. A
// queue stores it, a device runs it, the dry device only looks at it; nobody describes an op twice.
//
// Shapes are row-major. "adds" means the output is added to; everything else is overwritten. An
// output may alias an input only where the op says "in place".
//
// What carries parameters, activations and gradients has one element type within an op: f32, bf16
// or f16. Arithmetic is f32 throughout, sums over rows included, and a result is rounded once, when
// it is stored. Statistics, log-sum-exps and control are f32, losses and norms f64, tokens i32.
#include <functional>
#include <variant>

#include "layer_ops.hpp"
#include "profilers/timeline.hpp"

namespace shardmark {

// A transfer between ranks: the device only keeps its place in the order; the communicator brings
// the body. volume: bytes sent, and what is carried: for clocks of other machines than this.
struct Transfer {
  ConstView from;
  View to, also;  // also: scratch that is written on the way
  double volume = 0;
  std::function<void()> body;
  Collective carries{};
  Access access() const { return {{from}, {to, also}}; }
};

using Op =
    std::variant<Clear, Cast, Add, SumRanks, Fill, SumSquares, ClipControl, AdamW, Matmul,
                 ColumnSum, Embed, EmbedBackward, OneHot, LayerNorm, LayerNormBackward, RmsNorm,
                 RmsNormBackward, RotaryTable, Rotary, Gelu, GeluBackward, Swiglu, SwigluBackward,
                 Attention, AttentionBackward, CrossEntropy, CrossEntropyBackward, Transfer>;

// Floating-point operations, multiply and add counted apart; only matrix products count (causal
// attention half).
double flops(const Op&);
inline Access access_of(const Op& op) {
  return std::visit([](const auto& o) { return o.access(); }, op);
}
std::string_view name(const Op&);

}  // namespace shardmark
