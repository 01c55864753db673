#pragma once
// What would one rank's steps do? The strategy's own step() on the dry device: bytes, calls and
// order for any N, and a timeline in virtual time; no memory, no arithmetic, milliseconds.
#include "impl/train.hpp"
#include "kernels/dry/device.hpp"

namespace shardmark {

struct DryStep {
  std::map<Held, std::uint64_t> held;  // peaks, as RankReport::held_by_step on the CPU
  std::uint64_t peak_bytes = 0;
  TrafficLedger traffic;
  std::map<Held, std::uint64_t> left_over;  // bucket, gathered, staging, activation behind the step
};

struct DryReport {
  std::vector<DryStep> steps;
  std::vector<std::string> violations;  // a sentence each, of the order; at most a hundred
  Timeline timeline;
};

// The first steps of the training's own. Only what changes bytes, traffic and order is read of
// it: no text, no link. Throws InputError where the training cannot be.
struct DryAsked {
  int rank = 0, steps = 3;
  bool check_order = true;
  DryClock clock{};
  // A model that need not be one of the registry's, of which then only products and memory are
  // known: training.model is not read. It must outlive the run.
  const Architecture* outline = nullptr;
};
DryReport dry_run(const Training&, const DryAsked&);

// The first access on rank 0, or on this one, that is not ordered after a conflicting one; empty:
// none.
std::string first_violation(const Training&, int other_rank);

}  // namespace shardmark
