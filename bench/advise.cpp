// What is tried, and which of it is the answer? See advise.hpp.
#include "bench/advise.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/advise_search.hpp"
#include "bench/registry.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

// Every question is answered by dozens of dry runs. A step of so many buckets is run dry in
// milliseconds; --help says both.
constexpr double buckets_advised = 400;
// A step of so many buckets or units in all micro-steps is run dry in half a second. One of more is
// neither taken nor tried in smaller micro-batches.
constexpr std::int64_t most_calls = 5000;

double gradient_bytes(const Prediction& p) {
  return static_cast<double>(p.claims.trainable) *
         static_cast<double>(size_of(dtype_named(p.cell.reduce_dtype)));
}

// As many tokens a step in smaller micro-batches; false: there are none, or too many.
bool halve(Cell& c, std::size_t units) {
  const std::int64_t next = c.batch % 2 == 0 ? c.batch / 2 : 1;
  const std::int64_t accumulate = c.accumulate * (c.batch / next);
  if (c.batch == 1 || accumulate * static_cast<std::int64_t>(units) > most_calls) return false;
  c.batch = next, c.accumulate = accumulate;
  return true;
}

template <class Fits>
std::optional<std::size_t> least(const std::vector<Choice>& all, Fits&& counts,
                                 double (*of)(const Choice&)) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].naive && counts(all[i]) && (!found || of(all[i]) < of(all[*found]))) found = i;
  return found;
}

double step_of(const Choice& c) { return c.step_ns(); }
double over_of(const Choice& c) { return c.over_bytes; }

void take_ties(Advice& a) {
  const Choice& best = a.tried[*a.best];
  for (std::size_t i = 0; i < a.tried.size(); ++i) {
    const Choice& c = a.tried[i];
    const bool known = std::any_of(a.ties.begin(), a.ties.end(), [&](std::size_t t) {
      return a.tried[t].strategy() == c.strategy();
    });
    if (c.fits() && !c.naive && !known && c.strategy() != best.strategy() &&
        c.step_ns() <= best.step_ns() * (1 + distinct))
      a.ties.push_back(i);
  }
}

void judge(Advice& a) {
  a.smallest = *least(
      a.tried, [](const Choice&) { return true; }, over_of);
  a.best = AdviseSearch::answer_of(a.tried);
  if (!a.best) return;
  take_ties(a);
  const double best = a.tried[*a.best].step_ns();
  const auto faster = [best](const Choice& c) {
    return !c.fits() && c.step_ns() * (1 + distinct) < best;
  };
  a.next_faster = least(a.tried, faster, over_of);
  a.fastest = least(a.tried, faster, step_of);
}

}  // namespace

std::optional<std::size_t> AdviseSearch::answer_of(const std::vector<Choice>& all) {
  const auto fastest = least(
      all, [](const Choice& c) { return c.fits(); }, step_of);
  if (!fastest) return std::nullopt;
  const double most = all[*fastest].step_ns() * (1 + distinct);
  const auto lowest = std::find_if(all.begin(), all.end(), [most](const Choice& c) {
    return c.fits() && !c.naive && (c.prediction.cell.ranks == 1 || c.step_ns() <= most);
  });
  return least(
      all, [&](const Choice& c) { return c.fits() && c.strategy() == lowest->strategy(); },
      step_of);
}

Choice AdviseSearch::choice(const Cell& c) const {
  Choice out;
  out.prediction = predict({c}, q_.cluster).front();
  out.over_bytes = out.prediction.peak_bytes - q_.room();
  out.naive = is_naive(c.strategy);
  return out;
}

Cell AdviseSearch::start(const std::string& strategy, std::int64_t ranks) const {
  Cell c = q_.cell;
  c.strategy = strategy, c.ranks = ranks;
  return c;
}

Choice AdviseSearch::leanest(Cell c) const {
  if (!q_.recompute_given) c.recompute = "unit";
  if (!q_.prefetch_given && gathers_by_unit(c.strategy)) c.prefetch = 0;
  while (halve(c, model_.architecture.units.size())) continue;
  return choice(c);
}

std::vector<Choice> AdviseSearch::tries(const std::string& strategy, std::int64_t ranks) const {
  Cell c = start(strategy, ranks);
  std::vector<Choice> out = {choice(c)};
  if (out.front().fits()) return out;
  const auto any = [&out] {
    return std::any_of(out.begin(), out.end(), [](auto& o) { return o.fits(); });
  };
  // Of what is only compared with it is enough to know that it does not fit. Of all else that would
  // be asked next: in how much memory would it?
  const bool naive = out.front().naive;
  if (naive && out.front().prediction.model_state_bytes() > q_.room()) return out;
  for (;;) {
    // Smaller micro-batches with recompute would be slower than larger ones that fit.
    if (c.recompute == "none" && !q_.recompute_given && !any()) {
      Cell again = c;
      again.recompute = "unit";
      out.push_back(choice(again));
    }
    if (!halve(c, model_.architecture.units.size())) break;
    out.push_back(choice(c));
    if (out.back().fits()) return out;
  }
  if (any() || naive) return out;
  Choice lean = leanest(start(strategy, ranks));
  const auto same = [&lean](const Choice& o) { return o.prediction.cell == lean.prediction.cell; };
  if (std::none_of(out.begin(), out.end(), same)) out.push_back(std::move(lean));
  return out;
}

std::vector<std::string> AdviseSearch::strategies() {
  std::vector<std::string> names = strategy_names();
  std::stable_partition(names.begin(), names.end(), [](const auto& n) { return !is_naive(n); });
  return names;
}

Advice advise(const Question& q) {
  Question asked = q;
  asked.cell.strategy = strategy_names().front();
  const auto model = predict({asked.cell}).front().model;
  const AdviseSearch search(q, *model);
  Advice a;
  a.question = q;
  for (const std::string& strategy : AdviseSearch::strategies())
    for (Choice& c : search.tries(strategy, q.cell.ranks)) a.tried.push_back(std::move(c));
  judge(a);
  if (a.best) {
    search.take_turns(a);
    search.take_lower_stages(a);
    search.take_fewest(a);
  } else {
    search.take_way_out(a);
  }
  return a;
}

std::uint64_t advised_bucket_bytes(const Prediction& p) {
  std::uint64_t bytes = Cell().bucket_bytes;
  const double most = std::min(
      buckets_advised, static_cast<double>(most_calls) / static_cast<double>(p.cell.accumulate));
  while (gradient_bytes(p) / static_cast<double>(bytes) > most) bytes *= 2;
  return bytes;
}

void check_calls(const Prediction& p) {
  const auto units = static_cast<std::int64_t>(p.model->architecture.units.size());
  if (units * p.cell.accumulate > most_calls)
    throw InputError(fmt::format(
        "--accumulate is {}, which makes {} layers in all micro-steps, but advise runs at most {} "
        "dry; give at most {}.",
        p.cell.accumulate, grouped(units * p.cell.accumulate), grouped(most_calls),
        std::max<std::int64_t>(1, most_calls / units)));
  if (p.cell.bucket_bytes == 0) return;
  const double all = gradient_bytes(p) * static_cast<double>(p.cell.accumulate);
  const double buckets = all / static_cast<double>(p.cell.bucket_bytes);
  if (buckets > most_calls)
    throw InputError(fmt::format(
        "--bucket-mb is {}, which makes {} buckets of the gradients in all micro-steps, but advise "
        "runs at most {} dry; give at least {:.0f}.",
        static_cast<double>(p.cell.bucket_bytes) * 1e-6, grouped(buckets), grouped(most_calls),
        std::ceil(all / most_calls * 1e-6)));
}

}  // namespace shardmark
