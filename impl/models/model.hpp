#pragma once
// How does a model run? Unit by unit, on a device, forward and backward by hand. It never knows how
// weights are stored: it is given one view a parameter, and an empty one is an error (for a
// gradient: a frozen parameter). What stays between forward and backward, and what is computed
// again, is decided here for all models.
#include <memory>

#include "impl/claim.hpp"
#include "impl/passes.hpp"
#include "impl/rank.hpp"

namespace shardmark {

// What one rank trains on in one step; the host's memory stays as it is until the device is
// drained.
struct MicroBatch {
  ConstView tokens, targets;  // i32 (batch * sequence)
};
struct Batch {
  std::size_t step = 0;
  std::span<const MicroBatch> micros;
};

class Model {
 public:
  Model(Rank&, const Architecture&, const Options&);
  virtual ~Model() = default;

  const Architecture& architecture() const { return architecture_; }
  // f32[control_slots], for the loss scale: must be given where gradients are scaled.
  void scale_loss_by(ConstView control) { control_ = control; }
  void load(const Batch&, int micro);
  Event forward(int unit, Views weights, Event after);
  // Adds to grads: the owner clears. Mean over the micro-batch, divided by the micro-steps of a
  // step, times the loss scale. Nothing, where nothing at or before the unit is trainable.
  Event backward(int unit, Views weights, Views grads, Event after);
  // f64[steps]: of this rank, mean over its tokens and micro-steps.
  ConstView losses() const { return losses_.view(); }

  // Activations, workspace and scratch, from shapes; scratch_bytes: what the device asks for an op.
  using ScratchBytes = std::function<std::size_t(const Op&)>;
  static void claim(Claim&, const Architecture&, const Options&, const ScratchBytes&);

 protected:
  struct Memory {
    ConstView in;                 // what the unit before handed on; empty for the first
    View out;                     // what this one hands on; empty when it is run again, and behind
    View activation, statistics;  // from forward to backward
  };
  // The unit's ops, in the span that is open. Both see the same activation and statistics.
  virtual void run_forward(int unit, Views weights, const Memory&) = 0;
  virtual void run_backward(int unit, Views weights, Views grads, const Memory&) = 0;

  void run(Op op) { queue_.run(std::move(op)); }
  template <class O>
  requires requires(O o) { o.scratch; }
  void run(O o) {
    o.scratch = scratch_.view();
    queue_.run(std::move(o));
  }
  void product(Matmul);
  // out(rows, to) = x(rows, from) w + bias (+ residual); bias and residual may be empty.
  void linear(ConstView x, ConstView w, ConstView bias, ConstView residual, View out,
              std::size_t from, std::size_t to);
  // dw(from, to) += x^T dy; nothing where dw is empty, which means frozen.
  void weight_gradient(ConstView x, ConstView dy, View dw, std::size_t from, std::size_t to);
  // dx(rows, from) = dy(rows, to) w^T
  void input_gradient(ConstView dy, ConstView w, View dx, std::size_t from, std::size_t to);
  void bias_gradient(ConstView dy, View db);
  // logits(rows, vocabulary) = x(rows, width) table^T, and the loss.
  void head_forward(ConstView x, ConstView table, View logits, View lse, std::size_t width,
                    std::size_t vocabulary);
  // logits become their gradient; dtable adds, dx is overwritten.
  void head_backward(ConstView x, ConstView table, View logits, ConstView lse, View dtable, View dx,
                     std::size_t width, std::size_t vocabulary);

  View carve(View& rest, std::size_t elements) const;  // the next elements of a buffer
  void all_carved(View rest) const;  // nothing may be left: what is claimed is what is used
  std::size_t rows() const { return architecture_.rows; }
  int last_unit() const { return static_cast<int>(architecture_.units.size()) - 1; }
  // The unit's i-th parameter; a weight that is not here is an error, a gradient that is not means
  // frozen.
  ConstView weight(Views, int unit, std::size_t i) const;
  View gradient(Views all, int unit, std::size_t i) const { return own(all, unit, i); }
  double micro_scale() const { return 1.0 / options_.accumulate; }

  Queue& queue_;
  const Architecture& architecture_;
  const Options& options_;
  View tokens_, targets_, workspace_, tables_;
  std::size_t step_ = 0;
  Buffer losses_;
  ConstView control_;

 private:
  View own(Views, int unit, std::size_t i) const;
  struct Kept {
    Buffer handed_on, activation, statistics;
  };
  Kept& kept(int unit) { return kept_[static_cast<std::size_t>(unit)]; }
  const Passes& passes(int unit) const { return passes_[static_cast<std::size_t>(unit)]; }
  void take_activation(int unit);
  void drop_activation(int unit, Event after);
  Memory memory_of(int unit, View out);
  static std::size_t largest_scratch(const Architecture&, const Options&, const ScratchBytes&);

  Arena& memory_;
  std::vector<Passes> passes_;
  std::vector<Kept> kept_;  // by unit
  Buffer inputs_, work_, table_, scratch_;
};

}  // namespace shardmark
