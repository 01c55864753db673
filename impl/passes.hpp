#pragma once
// What does a micro-batch do with each unit? Which run backward, whose activations are dropped and
// computed again, and which read their weights a second time: from the architecture and the
// options alone.
#include "impl/architecture.hpp"
#include "impl/options.hpp"

namespace shardmark {

struct Passes {       // of one unit
  bool backward;      // something trainable is in it or before it
  bool again;         // its forward is run again before its backward
  bool keeps;         // its activations stay from forward to backward
  bool reads_behind;  // its backward, or its second forward, reads its weights
};
std::vector<Passes> passes_of(const Architecture&, const Options&);

inline bool is_frozen(const Options& o, int parameter) {
  return !o.frozen.empty() && o.frozen[static_cast<std::size_t>(parameter)];
}

// Floating-point operations of one micro-batch's products, forward and backward; what is computed
// again is not counted.
double flops_of(const Architecture&, const Options&);

}  // namespace shardmark
