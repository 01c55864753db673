#pragma once
// How does a model run? Unit by unit, on a device, forward and backward by hand. It never knows how
// weights are stored: it is given one view a parameter, and an empty one is an error (for a
// gradient: a frozen parameter).
#include <memory>

#include "impl/architecture.hpp"
#include "impl/claim.hpp"
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
  void load(const Batch&, int micro);
  virtual Event forward(int unit, Views weights, Event after) = 0;
  // Adds to grads: the owner clears. Mean over the micro-batch, divided by the micro-steps of a
  // step.
  virtual Event backward(int unit, Views weights, Views grads, Event after) = 0;
  // f64[steps]: of this rank, mean over its tokens and micro-steps.
  ConstView losses() const { return losses_.view(); }

  // Activations, workspace and scratch, from shapes; scratch_bytes: what the device asks for a
  // product.
  using ScratchBytes = std::function<std::size_t(const Matmul&)>;
  static void claim(Claim&, const Architecture&, const Options&, const ScratchBytes&);

 protected:
  // Taken in forward, given back behind backward.
  Buffer activation(int unit);
  Buffer statistics(int unit);
  View carve(View& rest, std::size_t elements) const;  // the next elements of a buffer
  void all_carved(View rest) const;  // nothing may be left: what is claimed is what is used
  void run(Op op) { queue_.run(std::move(op)); }
  void product(Matmul);  // with the scratch
  std::size_t rows() const { return architecture_.rows; }
  // The unit's i-th parameter; a weight that is not here is an error, a gradient that is not means
  // frozen.
  ConstView weight(Views, int unit, std::size_t i) const;
  View gradient(Views, int unit, std::size_t i) const;
  double micro_scale() const { return 1.0 / options_.accumulate; }

  Queue& queue_;
  const Architecture& architecture_;
  const Options& options_;
  View tokens_, targets_, workspace_;
  std::size_t step_ = 0;
  Buffer losses_;

 private:
  static std::size_t largest_scratch(const Architecture&, const ScratchBytes&);
  Arena& memory_;
  Buffer inputs_, work_, scratch_;
};

}  // namespace shardmark
