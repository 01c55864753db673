// How often would the gate be wrong, on this machine? See gate_replay.hpp.
#include "bench/gate_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "bench/text.hpp"
#include "bench/units.hpp"
#include "kernels/error.hpp"

namespace shardmark {

namespace {

using Pairs = std::vector<TimePair>;

Pairs drawn(const Pairs& all, std::size_t from, std::size_t count, double factor,
            std::mt19937_64& random) {
  Pairs out;
  for (std::size_t i = from; i < from + count; ++i) {
    TimePair p = all[i];
    if (random() >> 63) std::swap(p.base_ns, p.head_ns);
    p.head_ns *= factor;
    out.push_back(p);
  }
  return out;
}

void check_pairs(const std::vector<GateCell>& cells, const GateRules& rules) {
  const std::size_t needed = rules.pairs + rules.confirm;
  for (const GateCell& c : cells)
    if (c.first.size() < needed)
      throw InputError(
          fmt::format("{} has {} pairs, but {} and then {} are needed; collect at least {}.", c.id,
                      c.first.size(), rules.pairs, rules.confirm, needed));
}

}  // namespace

std::vector<Replayed> replay(const std::vector<GateCell>& cells, const GateRules& rules,
                             std::uint64_t seed, std::size_t repetitions,
                             const std::vector<double>& factors) {
  check_pairs(cells, rules);
  std::mt19937_64 random(seed);
  std::vector<Replayed> all;
  for (const bool crowded : {false, true})
    for (const double factor : factors) {
      Replayed r{factor, crowded};
      for (const GateCell& c : cells) {
        if (c.crowded != crowded) continue;
        ++r.cells;
        const std::size_t windows = c.first.size() - rules.pairs - rules.confirm + 1;
        for (std::size_t i = 0; i < repetitions; ++i) {
          const std::size_t from = random() % windows;
          const Pairs first = drawn(c.first, from, rules.pairs, factor, random);
          const Pairs again = drawn(c.first, from + rules.pairs, rules.confirm, factor, random);
          ++r.gated;
          r.suspects += judged(first, {}, rules) == Gated::suspect ? 1 : 0;
          r.slower += judged(first, again, rules) == Gated::slower ? 1 : 0;
        }
      }
      if (r.cells > 0) all.push_back(r);
    }
  return all;
}

std::string replay_text(const std::vector<Replayed>& all, const std::vector<GateCell>& cells,
                        const GateRules& rules, std::size_t columns) {
  std::size_t least = cells.front().first.size();
  for (const GateCell& c : cells) least = std::min(least, c.first.size());
  Grid grid(2);
  grid.row(
      {"threads", "slowdown", "cells", "gated", "suspects", "found", "found %", "per 200 cells"});
  for (const Replayed& r : all)
    grid.row({r.crowded ? "more than cores" : "a core each",
              r.factor == 1 ? "none" : fmt::format("+{:g} %", (r.factor - 1) * 100),
              fmt::format("{}", r.cells), grouped(r.gated), grouped(r.suspects), grouped(r.slower),
              fmt::format("{:.1f}", 100 * r.share()),
              r.factor == 1 ? fmt::format("{:.2f}", 200 * r.share()) : "–"});
  const std::string legend = fmt::format(
      "{} pairs of a program with itself, played to the gate again: {} in a row, and the {} after "
      "them to confirm; which half of a pair is head is drawn anew. Without a slowdown, what was "
      "found is a false alarm. Stretches overlap, so rates are less sure than their digits.",
      least, rules.pairs, rules.confirm);
  return grid.text() + "\n" + wrapped(legend, columns) + "\n";
}

}  // namespace shardmark
