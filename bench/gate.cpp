// What did the gate find between two programs? See gate.hpp.
#include "bench/gate.hpp"

#include <algorithm>

namespace shardmark {

std::size_t GateReport::compared() const {
  std::size_t n = 0;
  for (const Comparison& c : exact) n += c.compared();
  return n;
}

std::size_t GateReport::differing() const {
  std::size_t n = 0;
  for (const Comparison& c : exact)
    n += static_cast<std::size_t>(
        std::count_if(c.cells.begin(), c.cells.end(),
                      [](const ComparedCell& cell) { return cell.regression(); }));
  return n;
}

std::size_t GateReport::count(Gated g) const {
  return static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), [&](const GateCell& c) {
    return !c.control && c.failure.empty() && verdict(c) == g;
  }));
}

std::size_t GateReport::failed() const {
  return static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), [](const GateCell& c) {
    return !c.control && !c.failure.empty() && !c.base_failed;
  }));
}

std::size_t GateReport::measured() const {
  return static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), [](const GateCell& c) {
    return !c.control && c.failure.empty() && !c.first.empty();
  }));
}

bool GateReport::control_flagged() const {
  return std::any_of(cells.begin(), cells.end(), [&](const GateCell& c) {
    return c.control &&
           (!c.failure.empty() || verdict(c) == Gated::slower || verdict(c) == Gated::faster);
  });
}

// What is exact needs no quiet machine, and neither does a cell that does not end.
GateEnd GateReport::end() const {
  if (compared() == 0 || differing() > 0 || failed() > 0) return GateEnd::regression;
  if (!timed) return GateEnd::passed;
  if (measured() == 0) return GateEnd::regression;
  if (control_flagged()) return GateEnd::inconclusive;
  return count(Gated::slower) > 0 ? GateEnd::regression : GateEnd::passed;
}

}  // namespace shardmark
