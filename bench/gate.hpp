#pragma once
// What did the gate find between two programs? First what must repeat exactly, over two suites;
// then the times of one of them, in pairs. gate_command.hpp makes it, gate_text.hpp shows it.
#include <string>
#include <vector>

#include "bench/compare.hpp"
#include "bench/gate_pairs.hpp"

namespace shardmark {

enum class GateEnd { passed, regression, inconclusive };

struct GateReport {
  std::vector<Comparison> exact;  // a suite each
  std::vector<GateCell> cells;    // timed; none where only exact things were asked for
  GateRules rules;
  std::uint64_t seed = 0;
  double seconds = 0;
  std::string folder;
  bool timed = true;

  std::size_t compared() const;   // cells of which something was compared exactly
  std::size_t differing() const;  // of those: another value, or missing in head
  // Of a cell: failed in head, slower, faster, or the same; not asked of one that base failed.
  Gated verdict(const GateCell& c) const { return judged(c.first, c.confirming, rules); }
  std::size_t count(Gated) const;  // without the control
  std::size_t failed() const;      // timed cells that head did not end
  std::size_t measured() const;    // timed cells that have a verdict
  // The control is of one program: whatever is found there, the machine did.
  bool control_flagged() const;
  GateEnd end() const;
};

}  // namespace shardmark
