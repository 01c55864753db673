#pragma once
// Where is one model state (parameters, gradients, a moment)? Over all its segments, whole on every
// rank or cut in N. The update reads the same in every strategy: mine(s) is my N-th, wherever it is
// kept.
#include <array>

#include "impl/layout.hpp"
#include "kernels/device.hpp"

namespace shardmark {

class State {
 public:
  // Starts as zeros. Parameters that are resident stay whole though the form is cut.
  State(Device&, const Layout&, Tag, DType, Form, Which = Which::all);

  View whole(int s) const;                  // all of segment s, padding included
  View mine(int s) const;                   // my N-th of it
  std::array<View, 2> others(int s) const;  // of a whole segment what is before mine, and behind
  bool is_whole(int s) const {
    return form_ == Form::whole || (keeps_resident_ && layout_[s].resident);
  }
  bool is_stored(int s) const { return which_ == Which::all || layout_[s].trainable; }
  Views views() const { return views_; }  // by parameter; empty where cut or not stored

  Event clear(Phase) const;  // zeros, padding included
  // Every parameter's own start, a function of (seed, parameter, element): a rank fills its cut
  // alone.
  Event initialize(const Architecture&, std::uint64_t seed) const;

 private:
  View home(int s) const { return buffers_[static_cast<std::size_t>(layout_[s].home)].view(); }

  Queue& queue_;
  const Layout& layout_;
  Form form_;
  Which which_;
  bool keeps_resident_;
  std::vector<Buffer> buffers_;  // by home
  std::vector<std::size_t> at_;  // by segment: where my N-th starts, where cut
  std::vector<View> views_;
};

}  // namespace shardmark
