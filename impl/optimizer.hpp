#pragma once
// How do gradients become new weights? AdamW over segments, whole or cut as the strategy says, and
// the global norm that scales it.
#include "impl/claim.hpp"
#include "impl/rank.hpp"
#include "impl/state.hpp"

namespace shardmark {

// f32[control_slots] on the device (ControlSlot) and when it is ready: the host reads nothing back
// inside a step.
struct Control {
  View values;
  Event ready;
};

class Optimizer {
 public:
  Optimizer(Rank&, const Layout&, const Options&, Form);
  // The weights that are updated start as the parameters do, before they are rounded.
  void initialize(const Architecture&, std::uint64_t seed) const;
  // f32 weights behind 2-byte parameters; none where parameters are f32 themselves.
  const State* master() const { return master_ ? &*master_ : nullptr; }
  // All of segment s where weight is whole, my N-th where it is that.
  Event update(int s, View weight, ConstView grad, const Control&, Event after);

 private:
  Queue& queue_;
  const Layout& layout_;
  const Options& options_;
  Form form_;
  State first_, second_;
  std::optional<State> master_;
};

// The norm of the mean gradient over all parameters, squares summed in double. Sums run over one
// rank's parts at a time and then over ranks in order, however the gradient is kept: so strategies
// differ at most by the order in which segments of other sizes are added, which double hides.
class GlobalNorm {
 public:
  GlobalNorm(Rank&, const Layout&, const Options&);
  Control over_ranks(const State& grads,
                     Event after);  // every rank holds its N-th: one scalar all-reduce
  Control local(const State& grads, Event after);  // every rank holds everything
  ConstView history() const {
    return history_.view();
  }  // f64[3 * steps]: before and after clipping, loss scale; empty if not asked for
  ConstView control() const { return control_.view(); }
  static void claim(Claim&, const Options&, bool over_ranks);

 private:
  Control finish(View squares, Event after);

  Communicator& comm_;
  Queue& queue_;
  const Layout& layout_;
  const Options& options_;
  std::size_t step_ = 0;
  Buffer squares_, control_, history_;
};

}  // namespace shardmark
