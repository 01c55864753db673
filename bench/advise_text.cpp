// How is advice written for people? The question, what was tried, the answer and what would change
// it. See advise.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/advise.hpp"
#include "bench/predict_text.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

constexpr std::size_t columns = 100;

std::string line(const std::string& text) { return wrapped(text, columns, "  ") + "\n"; }
std::string bytes(double b) { return with_unit(b, "B"); }
std::string rate(double bytes_per_ns) { return with_unit(bytes_per_ns * 1e9, "B/s"); }
std::string count(std::int64_t n) { return grouped(static_cast<double>(n)); }
std::string gpus(std::int64_t n) { return count(n) + (n == 1 ? " GPU" : " GPUs"); }
double needed(const Advice& a, const Choice& c) {
  return c.prediction.peak_bytes + a.question.reserve;
}

std::string time(double ns) {
  return ns >= 1e9 ? significant(ns * 1e-9, 4) + " s" : significant(ns * 1e-6, 4) + " ms";
}

std::string where(const Question& q) {
  const Cluster& c = q.cluster;
  const std::int64_t n = q.cell.ranks;
  std::string text = fmt::format("{} of {}", gpus(n), bytes(c.memory_bytes));
  if (q.reserve > 0) text += fmt::format(" ({} of it reserved)", bytes(q.reserve));
  const std::string link = rate(link_rate(c, n));
  if (n == 1)
    text += "";
  else if (c.gpus_per_node == 1)
    text += fmt::format(", each alone on a link of {}", link);
  else if (n <= c.gpus_per_node)
    text += fmt::format(" in one node, {} between them", link);
  else
    text += fmt::format(", {} a node, {} inside and {} a GPU between nodes", c.gpus_per_node,
                        rate(c.inside.bytes_per_ns), link);
  return text + (q.cluster_given ? fmt::format("; all else as {}", c.name)
                                 : fmt::format("; no --cluster is given, so that compute and "
                                               "latency are those of the preset {}",
                                               c.name));
}

// What a choice does otherwise than asked for: "zero3 in micro-batches of 1 with recompute".
std::string named(const Advice& a, const Choice& c) {
  const Cell &here = c.prediction.cell, &asked = a.question.cell;
  std::string text = here.strategy;
  if (here.batch != asked.batch)
    text += fmt::format(" in micro-batches of {} ({} a step)", here.batch, here.accumulate);
  if (here.recompute != asked.recompute) text += " with recompute";
  if (here.prefetch != asked.prefetch) text += ", gathering nothing ahead";
  return text;
}

std::string recompute_of(const Advice& a, const Choice& c) {
  const Cell& here = c.prediction.cell;
  return here.recompute + (here.prefetch == a.question.cell.prefetch ? "" : ", p0");
}

// As asked for, and what it came to: of each strategy at most two.
std::vector<const Choice*> shown(const Advice& a) {
  std::vector<const Choice*> rows;
  for (std::size_t i = 0; i < a.tried.size();) {
    const Choice *first = &a.tried[i], *last = first;
    for (; i < a.tried.size() && a.tried[i].strategy() == first->strategy(); ++i) {
      const Choice& c = a.tried[i];
      const bool better = c.fits() ? !last->fits() || c.step_ns() < last->step_ns()
                                   : !last->fits() && c.over_bytes < last->over_bytes;
      if (better) last = &c;
    }
    rows.push_back(first);
    if (last != first) rows.push_back(last);
  }
  return rows;
}

std::string table(const Advice& a) {
  const std::vector<const Choice*> rows = shown(a);
  double slowest = 0;
  for (const Choice* c : rows) slowest = std::max(slowest, c->step_ns());
  const DecimalUnit unit = unit_for(a.question.cluster.memory_bytes / 50, "B");
  const bool seconds = slowest >= 1e10;
  const auto held = [&](double b) { return fmt::format("{:.1f}", b / unit.size); };
  Grid grid(3);
  grid.row(
      {"", "", "", "peak", "in " + bytes(a.question.room()), "step", "tokens/s", "what binds"});
  grid.row({"strategy", "batch", "recompute", unit.name, unit.name, seconds ? "s" : "ms", "all",
            "of the step"});
  for (const Choice* c : rows) {
    const Cell& cell = c->prediction.cell;
    const auto [what, share] = c->prediction.time->binds();
    grid.row({cell.strategy + (c->naive ? "*" : ""),
              fmt::format("{} x {}", cell.batch, cell.accumulate), recompute_of(a, *c),
              held(c->prediction.peak_bytes),
              c->fits() ? fmt::format("fits, {} left", held(-c->over_bytes))
                        : "misses by " + held(c->over_bytes),
              fmt::format("{:.{}f}", c->step_ns() * (seconds ? 1e-9 : 1e-6),
                          slowest < 1e8 || seconds ? 2 : 1),
              grouped(c->prediction.time->tokens_per_s),
              what.empty() ? "-" : fmt::format("{} {}", what, percent(share, 0))});
  }
  return grid.text();
}

// Strategies, without those that are there to compare with.
std::vector<std::string> fitting(const Advice& a, bool fits) {
  std::vector<std::string> names;
  for (const Choice& c : a.tried) {
    const bool any = std::any_of(a.tried.begin(), a.tried.end(), [&](const Choice& o) {
      return o.strategy() == c.strategy() && o.fits();
    });
    if (!c.naive && any == fits && (names.empty() || names.back() != c.strategy()))
      names.push_back(c.strategy());
  }
  return names;
}

std::string the_answer(const Advice& a) {
  const Choice& best = a.tried[*a.best];
  const auto [what, share] = best.prediction.time->binds();
  const auto not_there = fitting(a, false);
  std::string text = fmt::format(
      "What fits: {}; what does not: {}. The fastest that fits is {}: {} "
      "a step, {} tokens/s, {} left of {}",
      join(fitting(a, true), ", "), not_there.empty() ? "nothing" : join(not_there, ", "),
      named(a, best), time(best.step_ns()), grouped(best.prediction.time->tokens_per_s),
      bytes(-best.over_bytes), bytes(a.question.cluster.memory_bytes));
  if (!what.empty())
    text += fmt::format("; what binds: {}, {} of the step", what, percent(share, 0));
  text += ".";
  std::vector<std::string> equal;
  for (const std::size_t t : a.ties) equal.push_back(named(a, a.tried[t]));
  if (!equal.empty())
    text += fmt::format(" Within {} of it, which no prediction tells apart: {}.",
                        percent(distinct, 0), join(equal, ", "));
  return line(text);
}

std::string memory_change(const Advice& a) {
  if (!a.next_faster)
    return line(
        fmt::format("Memory: no choice that does not fit is faster by {}.", percent(distinct, 0)));
  const double best = a.tried[*a.best].step_ns();
  const auto said = [&](std::size_t i) {
    const Choice& c = a.tried[i];
    return fmt::format("{}: it needs {} a GPU, {} more, and takes {} less time", named(a, c),
                       bytes(needed(a, c)), bytes(c.over_bytes),
                       percent(1 - c.step_ns() / best, 0));
  };
  std::string text = "Memory: the next that is faster is " + said(*a.next_faster);
  if (a.fastest != a.next_faster) text += "; the fastest of all is " + said(*a.fastest);
  return line(text + ".");
}

std::string turn(const Advice& a, const Turn& t) {
  const double now = link_rate(a.question.cluster, a.question.cell.ranks);
  const bool faster = t.bytes_per_ns > now;
  const double times = faster ? t.bytes_per_ns / now : now / t.bytes_per_ns;
  return fmt::format("at {} ({} what it is) {} becomes the fastest, {} a step where {} takes {}",
                     rate(t.bytes_per_ns),
                     (faster ? "" : "1/") + significant(times, 2) + (faster ? " times" : " of"),
                     t.strategy, time(t.step_ns), a.tried[*a.best].strategy(),
                     time(t.step_ns_of_best));
}

std::string link_change(const Advice& a) {
  if (a.question.cell.ranks < 2) return "";
  const std::string best = a.tried[*a.best].strategy();
  if (fitting(a, true).size() == 1)
    return line(fmt::format("Bandwidth: none changes the answer, as nothing but {} fits.", best));
  std::vector<std::string> turns;
  if (a.slower_link) turns.push_back(turn(a, *a.slower_link));
  if (a.faster_link) turns.push_back(turn(a, *a.faster_link));
  if (turns.empty())
    return line(
        fmt::format("Bandwidth: from 1/{} to {} times of what it is nothing is faster than {} by "
                    "{}.",
                    widest_link, widest_link, best, percent(distinct, 0)));
  return line("Bandwidth: " + join(turns, "; ") + ".");
}

std::string miss(const Choice& c) {
  return fmt::format("{} misses by {}", c.strategy(), bytes(c.over_bytes));
}

std::string gpus_change(const Advice& a) {
  std::vector<std::string> said;
  for (const Choice& c : a.lower_stages) {
    const std::int64_t n = c.prediction.cell.ranks;
    if (c.fits())
      said.push_back(fmt::format("{} fits from {} on: {} of them, {} a step", named(a, c), gpus(n),
                                 bytes(c.prediction.peak_bytes), time(c.step_ns())));
    else if (n == a.question.cell.ranks)
      said.push_back(
          fmt::format("{} fits on no number of GPUs: it holds no less on more", c.strategy()));
    else
      said.push_back(fmt::format("{} fits on no number of GPUs: at best, on {}, it needs {} a GPU",
                                 c.strategy(), count(n), bytes(needed(a, c))));
  }
  if (a.fewest) {
    const Choice& c = *a.fewest;
    said.push_back(fmt::format("by halves, {} would do: {}, {} a step, {} left",
                               gpus(c.prediction.cell.ranks), named(a, c), time(c.step_ns()),
                               bytes(-c.over_bytes)));
  }
  if (a.half_of_fewest)
    said.push_back(fmt::format("on {} nothing fits, {}",
                               count(a.half_of_fewest->prediction.cell.ranks),
                               miss(*a.half_of_fewest)));
  return said.empty() ? "" : line("GPUs: " + join(said, "; ") + ".");
}

std::string no_answer(const Advice& a) {
  const Choice& least = a.tried[a.smallest];
  std::string text = line(
      fmt::format("Nothing fits. The smallest is {}: it misses by {}, and a GPU would need {}. Its "
                  "model states alone are {}.",
                  named(a, least), bytes(least.over_bytes), bytes(needed(a, least)),
                  bytes(least.prediction.model_state_bytes())));
  if (a.more) {
    const Choice& c = *a.more;
    const std::int64_t n = c.prediction.cell.ranks;
    text +=
        line(c.fits() ? fmt::format("GPUs: {} are the first, by doubling, where something fits: "
                                    "{}, {} a step, {} left.",
                                    count(n), named(a, c), time(c.step_ns()), bytes(-c.over_bytes))
                      : fmt::format("GPUs: more of them are not enough: at best, on {}, {}.",
                                    count(n), miss(c)));
  }
  if (a.other_recompute)
    text += line(fmt::format("Recompute: with --recompute unit {} fits, {} left.", least.strategy(),
                             bytes(-a.other_recompute->over_bytes)));
  if (a.shorter)
    text += line(fmt::format("Sequence: with --sequence {} {} fits, {} left.",
                             a.shorter->prediction.cell.sequence, named(a, *a.shorter),
                             bytes(-a.shorter->over_bytes)));
  return text;
}

std::string legend(const Advice& a) {
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
  return line(text +
              " On other numbers of GPUs each has as many tokens as here. GB = 1e9 bytes. A "
              "prediction is no measurement.");
}

}  // namespace

std::string advice_text(const Advice& a) {
  const Prediction& any = a.tried.front().prediction;
  std::string text = line(model_in_words(any)) + line(where(a.question)) +
                     line(settings_in_words(a.question.cell)) + "\n" + table(a) + "\n";
  text +=
      a.best ? the_answer(a) + memory_change(a) + link_change(a) + gpus_change(a) : no_answer(a);
  for (const std::string& note : any.model->notes) text += line("note: " + note);
  return text + "\n" + legend(a);
}

}  // namespace shardmark
