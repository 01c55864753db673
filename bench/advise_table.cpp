// What does the table of advice show, and what do its words mean? See advise.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "bench/advise.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

std::string recompute_of(const Advice& a, const Choice& c) {
  const Cell& here = c.prediction.cell;
  return here.recompute + (here.prefetch == a.question.cell.prefetch ? "" : ", p0");
}

// Of each strategy as asked for, what it came to, and what the words under the table name.
std::vector<const Choice*> shown(const Advice& a) {
  std::vector<const Choice*> rows;
  const auto named = [&](const Choice& c) {
    const auto is = [&](std::optional<std::size_t> i) { return i && &c == &a.tried[*i]; };
    return is(a.best) || is(a.next_faster) || is(a.fastest);
  };
  for (std::size_t i = 0; i < a.tried.size();) {
    const Choice *const first = &a.tried[i], *last = first;
    const std::size_t begin = i;
    for (; i < a.tried.size() && a.tried[i].strategy() == first->strategy(); ++i) {
      const Choice& c = a.tried[i];
      const bool better = c.fits() ? !last->fits() || c.step_ns() < last->step_ns()
                                   : !last->fits() && c.over_bytes < last->over_bytes;
      if (better) last = &c;
    }
    for (std::size_t j = begin; j < i; ++j)
      if (const Choice& c = a.tried[j]; &c == first || &c == last || named(c)) rows.push_back(&c);
  }
  return rows;
}

}  // namespace

std::string advice_table(const Advice& a) {
  const std::vector<const Choice*> rows = shown(a);
  double slowest = 0, leanest = rows.front()->prediction.peak_bytes;
  for (const Choice* c : rows)
    slowest = std::max(slowest, c->step_ns()),
    leanest = std::min(leanest, c->prediction.peak_bytes);
  // In which the lowest has digits.
  const DecimalUnit unit = unit_for(leanest, "B");
  const int decimals = leanest < 10 * unit.size ? 2 : 1;
  const bool seconds = slowest >= 1e10;
  Grid grid(3);
  grid.row({"", "", "", "peak", "in " + with_unit(a.question.room(), "B"), "step", "tokens/s",
            "what binds"});
  grid.row({"strategy", "batch", "recompute", unit.name, "", seconds ? "s" : "ms", "all",
            "of the step"});
  for (const Choice* c : rows) {
    const Cell& cell = c->prediction.cell;
    const auto [what, share] = c->prediction.time->binds();
    grid.row({cell.strategy + (c->naive ? "*" : ""),
              fmt::format("{} x {}", cell.batch, cell.accumulate), recompute_of(a, *c),
              fmt::format("{:.{}f}", c->prediction.peak_bytes / unit.size, decimals),
              c->fits() ? fmt::format("fits, {} left", bytes_down(-c->over_bytes))
                        : "misses by " + bytes_up(c->over_bytes),
              fmt::format("{:.{}f}", c->step_ns() * (seconds ? 1e-9 : 1e-6),
                          slowest < 1e8 || seconds ? 2 : 1),
              per_second(c->prediction.time->tokens_per_s),
              what.empty() ? "-" : fmt::format("{} {}", what, percent(share, 0))});
  }
  return grid.text();
}

std::string advice_legend(const Advice& a) {
  std::string text = fmt::format(
      "batch: sequences of a micro-batch x micro-batches a step; every row has {} tokens a step. "
      "peak: what this program's own ledger counts of one GPU; frameworks hold more (a CUDA "
      "context "
      "and NCCL's buffers are some 0.5 to 1 GB), for which there is --reserve.",
      grouped(a.tried.front().prediction.tokens_per_step));
  const std::vector<const Choice*> rows = shown(a);
  const auto any = [&](auto&& what) { return std::any_of(rows.begin(), rows.end(), what); };
  if (any([&](const Choice* c) { return recompute_of(a, *c).ends_with(", p0"); }))
    text += " p0: --prefetch 0.";
  if (any([](const Choice* c) { return c->naive; }))
    text += " *: shown to compare with, never advised.";
  return text +
         " On other numbers of GPUs each has as many tokens as here. GB = 1e9 bytes. A "
         "prediction is no measurement.";
}

}  // namespace shardmark
