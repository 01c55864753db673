#pragma once
// How often would the gate be wrong, on this machine? Pairs of one program with itself, as they
// were measured, are played to it again: whole stretches in the order of time, so that the drift
// stays in; only which half of a pair is head is drawn anew, and head is slowed down or not.
#include <cstdint>
#include <string>
#include <vector>

#include "bench/gate_pairs.hpp"

namespace shardmark {

struct Replayed {
  double factor = 1;         // by which head was slower
  bool crowded = false;      // cells with more threads than cores
  std::size_t cells = 0;     // of that kind
  std::size_t gated = 0;     // cells times repetitions
  std::size_t slower = 0;    // found to be
  std::size_t suspects = 0;  // measured again
  double share() const { return gated > 0 ? static_cast<double>(slower) / gated : 0; }
};

// Throws InputError: a cell has fewer pairs than the two stages need.
std::vector<Replayed> replay(const std::vector<GateCell>&, const GateRules&, std::uint64_t seed,
                             std::size_t repetitions, const std::vector<double>& factors);

// Pairs, false alarms per 200 gated cells, and what share of the slowdowns is found.
std::string replay_text(const std::vector<Replayed>&, const std::vector<GateCell>&,
                        const GateRules&, std::size_t columns = 100);

}  // namespace shardmark
