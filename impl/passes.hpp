#pragma once
// What does a micro-batch do with each unit? Which run backward, whose activations are dropped and
// computed again, and which read their weights a second time: from the architecture and the
// options alone.
#include <functional>

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

// Every product that one micro-batch runs, forward and backward, once each; what is computed again
// is not among them.
void each_product(const Architecture&, const Options&,
                  const std::function<void(const Product&)>& see);
// Floating-point operations of these.
double flops_of(const Architecture&, const Options&);

}  // namespace shardmark
