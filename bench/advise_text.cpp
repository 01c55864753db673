// How is advice written for people? The question, the answer and what would change it. See
// advise.hpp.
#include <fmt/format.h>

#include <algorithm>

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
std::string gpus(std::int64_t n) { return grouped(n) + (n == 1 ? " GPU" : " GPUs"); }
double needed(const Advice& a, const Choice& c) {
  return c.prediction.peak_bytes + a.question.reserve;
}

std::string time(double ns) {
  return ns >= 1e9 ? significant(ns * 1e-9, 4) + " s" : significant(ns * 1e-6, 4) + " ms";
}

// Of what one line has room for.
std::string shortened(const std::string& name) {
  constexpr std::size_t most = 60;
  std::string begin;
  for (const char c : name) {
    if (display_width(begin + c) > most) return begin + "...";
    begin += c;
  }
  return begin;
}

std::string lanes(const Question& q) {
  const Cluster& c = q.cluster;
  const std::int64_t n = q.cell.ranks;
  const bool across = is_between_nodes(c, n);
  const auto said = [&](const Lane& lane, bool meant) {
    return rate(lane.bytes_per_ns) +
           (meant && q.bandwidth_given && c.gpus_per_node > 1 ? " (--bandwidth)" : "");
  };
  const std::string inside = said(c.inside, !across), between = said(c.between, across);
  if (c.gpus_per_node == 1)
    return fmt::format("{} on a link of {}",
                       n == 1 ? "; more of them would be each alone" : ", each alone", between);
  const std::string rates = fmt::format("{} inside and {} a GPU between nodes", inside, between);
  if (n == 1) return fmt::format("; more of them would be {} a node, {}", c.gpus_per_node, rates);
  return n <= c.gpus_per_node ? ", all in one node, " + rates
                              : fmt::format(", {} a node, {}", c.gpus_per_node, rates);
}

std::string where(const Question& q) {
  std::string text = fmt::format("{} of {}", gpus(q.cell.ranks), bytes(q.cluster.memory_bytes));
  if (q.reserve > 0) text += fmt::format(" ({} of it reserved)", bytes(q.reserve));
  return text + lanes(q) +
         (q.cluster_given ? fmt::format("; all else as {}", shortened(q.cluster.name))
                          : fmt::format("; no --cluster is given, so that compute and "
                                        "latency are those of the preset {}",
                                        q.cluster.name));
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
  const bool outrun = std::any_of(a.tried.begin(), a.tried.end(), [&](const Choice& c) {
    return c.fits() && !c.naive && c.step_ns() < best.step_ns();
  });
  std::string text = fmt::format(
      "What fits: {}; what does not: {}. {} is {}: {} a step, {} tokens/s, {} left of {}",
      join(fitting(a, true), ", "), not_there.empty() ? "nothing" : join(not_there, ", "),
      outrun ? "The lowest stage of the fastest that fit" : "The fastest that fits", named(a, best),
      time(best.step_ns()), per_second(best.prediction.time->tokens_per_s),
      bytes_down(-best.over_bytes), bytes(a.question.cluster.memory_bytes));
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
                       bytes_up(needed(a, c)), bytes_up(c.over_bytes),
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
  const Question& q = a.question;
  if (q.cell.ranks < 2) return "";
  const std::string best = a.tried[*a.best].strategy();
  const std::string head = q.cluster.gpus_per_node == 1 ? "Bandwidth: "
                           : is_between_nodes(q.cluster, q.cell.ranks)
                               ? "Bandwidth between nodes: "
                               : "Bandwidth inside a node: ";
  if (fitting(a, true).size() == 1)
    return line(head + fmt::format("none changes the answer, as nothing but {} fits.", best));
  std::vector<std::string> turns;
  if (a.slower_link) turns.push_back(turn(a, *a.slower_link));
  if (a.faster_link) turns.push_back(turn(a, *a.faster_link));
  if (turns.empty())
    return line(head +
                fmt::format("from 1/{} to {} times of what it is, tried in steps of a factor "
                            "of {}, nothing is faster than {} by {}.",
                            widest_link, widest_link, significant(link_step, 3), best,
                            percent(distinct, 0)));
  return line(head + join(turns, "; ") + ".");
}

std::string miss(const Choice& c) {
  return fmt::format("{} misses by {}", c.strategy(), bytes_up(c.over_bytes));
}

// What was tried of more GPUs; empty: none.
std::string doublings(std::int64_t gpus) {
  std::int64_t most = gpus;
  while (2 * most <= most_predicted_ranks) most *= 2;
  if (most == gpus) return "";
  if (most == 2 * gpus) return grouped(most);
  return fmt::format("{} to {}, by doubling", grouped(2 * gpus), grouped(most));
}

std::string gpus_change(const Advice& a) {
  std::vector<std::string> said;
  const std::string tried = doublings(a.question.cell.ranks);
  for (const Choice& c : a.lower_stages) {
    const std::int64_t n = c.prediction.cell.ranks;
    if (tried.empty()) continue;
    if (c.fits())
      said.push_back(fmt::format("{} fits from {} on: {} of them, {} a step", named(a, c), gpus(n),
                                 bytes_up(c.prediction.peak_bytes), time(c.step_ns())));
    else if (n == a.question.cell.ranks)
      said.push_back(
          fmt::format("{} fits on none of {}: it holds no less on more", c.strategy(), tried));
    else
      said.push_back(fmt::format("{} fits on none of {}: at best, on {}, it needs {} a GPU",
                                 c.strategy(), tried, grouped(n), bytes_up(needed(a, c))));
  }
  if (a.fewest) {
    const Choice& c = *a.fewest;
    said.push_back(fmt::format("by halves, {} would do: {}, {} a step, {} left",
                               gpus(c.prediction.cell.ranks), named(a, c), time(c.step_ns()),
                               bytes_down(-c.over_bytes)));
  }
  if (a.half_of_fewest)
    said.push_back(fmt::format("on {} nothing fits, {}",
                               grouped(a.half_of_fewest->prediction.cell.ranks),
                               miss(*a.half_of_fewest)));
  return said.empty() ? "" : line("GPUs: " + join(said, "; ") + ".");
}

std::string no_answer(const Advice& a) {
  const Choice& least = a.tried[a.smallest];
  std::string text = line(
      fmt::format("Nothing fits. The smallest is {}: it misses by {}, and a GPU would need {}. Its "
                  "model states alone are {}.",
                  named(a, least), bytes_up(least.over_bytes), bytes_up(needed(a, least)),
                  bytes_up(least.prediction.model_state_bytes())));
  if (a.more) {
    const Choice& c = *a.more;
    const std::int64_t n = c.prediction.cell.ranks;
    text +=
        line(c.fits() ? fmt::format("GPUs: {} are the first, by doubling, where something fits: "
                                    "{}, {} a step, {} left.",
                                    grouped(n), named(a, c), time(c.step_ns()),
                                    bytes_down(-c.over_bytes))
                      : fmt::format("GPUs: nothing fits on {}: at best, on {}, {}.",
                                    doublings(a.question.cell.ranks), grouped(n), miss(c)));
  }
  if (a.other_recompute)
    text += line(fmt::format("Recompute: with --recompute unit {} fits, {} left.", least.strategy(),
                             bytes_down(-a.other_recompute->over_bytes)));
  if (a.shorter)
    text += line(fmt::format("Sequence: with --sequence {} {} fits, {} left.",
                             a.shorter->prediction.cell.sequence, named(a, *a.shorter),
                             bytes_down(-a.shorter->over_bytes)));
  return text;
}

}  // namespace

std::string advice_text(const Advice& a) {
  const Prediction& any = a.tried.front().prediction;
  std::string text = line(model_in_words(any)) + line(where(a.question)) +
                     line(settings_in_words(a.question.cell)) + "\n" + advice_table(a) + "\n";
  text +=
      a.best ? the_answer(a) + memory_change(a) + link_change(a) + gpus_change(a) : no_answer(a);
  for (const std::string& note : any.model->notes) text += line("note: " + note);
  return text + "\n" + line(advice_legend(a));
}

}  // namespace shardmark
