// By how much must memory, link or GPUs change before the answer does? See advise_search.hpp.
#include "bench/advise_search.hpp"

#include <algorithm>
#include <cmath>

#include "bench/registry.hpp"

namespace shardmark {

namespace {

constexpr int refinements = 7;  // halve the logarithm of link_step: 0.3 % are left

std::vector<std::string> advisable() {
  std::vector<std::string> names = AdviseSearch::strategies();
  std::erase_if(names, [](const std::string& n) { return is_naive(n); });
  return names;
}

// All that fits, at another rate of the link.
class Race {
 public:
  explicit Race(const Advice& a) : q_(a.question), best_(a.tried[*a.best].strategy()) {
    for (const Choice& c : a.tried)
      if (c.fits() && !c.naive) in_.push_back(&c);
  }
  bool has_others() const {
    return std::any_of(in_.begin(), in_.end(), [&](auto* c) { return c->strategy() != best_; });
  }
  // The other strategy that is surely faster there.
  std::optional<Turn> at(double rate) const {
    const Cluster cluster = with_link_rate(q_.cluster, q_.cell.ranks, rate);
    double best = 0;
    Turn turn{rate, "", 0, 0};
    for (const Choice* c : in_) {
      const auto ns = static_cast<double>(time_on(cluster, c->prediction).step.step_ns);
      if (c->strategy() == best_)
        best = best == 0 ? ns : std::min(best, ns);
      else if (turn.strategy.empty() || ns < turn.step_ns)
        turn.strategy = c->strategy(), turn.step_ns = ns;
    }
    turn.step_ns_of_best = best;
    if (turn.strategy.empty() || turn.step_ns * (1 + distinct) >= best) return std::nullopt;
    return turn;
  }

 private:
  const Question& q_;
  std::string best_;
  std::vector<const Choice*> in_;
};

// outward: by what the rate is multiplied, again and again.
std::optional<Turn> turn_of(const Race& race, double rate, double outward) {
  const auto steps = std::lround(std::log(widest_link) / std::abs(std::log(outward)));
  for (long step = 1; step <= steps; ++step) {
    double near = rate * std::pow(outward, step - 1), far = rate * std::pow(outward, step);
    std::optional<Turn> found = race.at(far);
    if (!found) continue;
    for (int i = 0; i < refinements; ++i) {
      const double middle = std::sqrt(near * far);
      if (auto turn = race.at(middle))
        found = turn, far = middle;
      else
        near = middle;
    }
    return found;
  }
  return std::nullopt;
}

}  // namespace

bool is_between_nodes(const Cluster& c, std::int64_t ranks) {
  return std::max<std::int64_t>(ranks, 2) > c.gpus_per_node;
}

double link_rate(const Cluster& c, std::int64_t ranks) {
  return (is_between_nodes(c, ranks) ? c.between : c.inside).bytes_per_ns;
}

Cluster with_link_rate(Cluster c, std::int64_t ranks, double bytes_per_ns) {
  if (is_between_nodes(c, ranks)) {
    c.between.bytes_per_ns = bytes_per_ns;
    return c;
  }
  // What was measured of each verb keeps its proportion to the link.
  const double longer = c.inside.bytes_per_ns / bytes_per_ns;
  for (auto& [verb, cost] : c.verbs) cost.ns_per_byte *= longer, cost.ns_per_cold_byte *= longer;
  c.inside.bytes_per_ns = bytes_per_ns;
  return c;
}

double AdviseSearch::held(const std::string& strategy, std::int64_t ranks,
                          bool states_alone) const {
  const Architecture& a = model_.architecture;
  double bytes = 0;
  for (const auto& [what, b] : claims_of(training_of(start(strategy, ranks), {}, a), a).exact)
    if (!states_alone || is_model_state(what.first)) bytes += b;
  return bytes;
}

// Padding grows with the ranks: the most are not always the best.
std::int64_t AdviseSearch::least_at(const std::string& strategy) const {
  std::int64_t best = q_.cell.ranks;
  double least = 0.999 * held(strategy, best, false);
  for (std::int64_t n = 2 * q_.cell.ranks; n <= most_predicted_ranks; n *= 2)
    if (const double bytes = held(strategy, n, false); bytes < least) best = n, least = bytes;
  return best;
}

bool AdviseSearch::can_fit(const std::string& strategy, std::int64_t ranks) const {
  return held(strategy, ranks, true) <= q_.room() && leanest(start(strategy, ranks)).fits();
}

std::vector<std::string> AdviseSearch::can_fit(std::vector<std::string> strategies,
                                               std::int64_t ranks) const {
  std::erase_if(strategies, [&](const std::string& s) { return !can_fit(s, ranks); });
  return strategies;
}

Choice AdviseSearch::best_of(const std::vector<std::string>& strategies, std::int64_t ranks) const {
  std::vector<Choice> all;
  for (const std::string& strategy : strategies)
    for (Choice& c : tries(strategy, ranks)) all.push_back(std::move(c));
  return all[*answer_of(all)];
}

void AdviseSearch::take_turns(Advice& a) const {
  const Race race(a);
  if (q_.cell.ranks < 2 || !race.has_others()) return;
  const double rate = link_rate(q_.cluster, q_.cell.ranks);
  a.faster_link = turn_of(race, rate, link_step);
  a.slower_link = turn_of(race, rate, 1 / link_step);
}

void AdviseSearch::take_lower_stages(Advice& a) const {
  for (const std::string& strategy : advisable()) {
    if (strategy == a.tried[*a.best].strategy()) return;
    std::vector<Choice> here;
    for (const Choice& c : a.tried)
      if (c.strategy() == strategy) here.push_back(c);
    if (std::any_of(here.begin(), here.end(), [](const Choice& c) { return c.fits(); })) continue;
    const std::int64_t most = least_at(strategy);
    std::int64_t n = 2 * q_.cell.ranks;
    while (n <= most && !can_fit(strategy, n)) n *= 2;
    a.lower_stages.push_back(most == q_.cell.ranks ? here.back()
                             : n <= most           ? best_of({strategy}, n)
                                                   : leanest(start(strategy, most)));
  }
}

void AdviseSearch::take_fewest(Advice& a) const {
  std::int64_t fewest = q_.cell.ranks;
  while (fewest > 1 && !can_fit(advisable(), fewest / 2).empty()) fewest /= 2;
  if (fewest < q_.cell.ranks) a.fewest = best_of(can_fit(advisable(), fewest), fewest);
  if (fewest == 1) return;
  for (const std::string& strategy : advisable())
    if (Choice c = leanest(start(strategy, fewest / 2));
        !a.half_of_fewest || c.over_bytes < a.half_of_fewest->over_bytes)
      a.half_of_fewest = std::move(c);
}

void AdviseSearch::take_more(Advice& a) const {
  std::vector<std::string> spread = advisable();
  std::erase_if(spread, [&](const std::string& s) { return least_at(s) == q_.cell.ranks; });
  for (std::int64_t n = 2 * q_.cell.ranks; n <= most_predicted_ranks; n *= 2)
    if (const auto fit = can_fit(spread, n); !fit.empty()) {
      a.more = best_of(fit, n);
      return;
    }
  for (const std::string& strategy : spread)
    if (Choice c = leanest(start(strategy, least_at(strategy)));
        !a.more || c.over_bytes < a.more->over_bytes)
      a.more = std::move(c);
}

void AdviseSearch::take_way_out(Advice& a) const {
  take_more(a);
  const Cell& smallest = a.tried[a.smallest].prediction.cell;
  if (smallest.recompute == "none") {
    Cell again = smallest;
    again.recompute = "unit";
    if (Choice c = choice(again); c.fits()) a.other_recompute = std::move(c);
  }
  if (a.tried[a.smallest].prediction.model_state_bytes() > q_.room()) return;
  for (Cell c = smallest; c.sequence > 1;) {
    c.sequence /= 2;
    if (Choice shorter = choice(c); shorter.fits()) {
      a.shorter = std::move(shorter);
      return;
    }
  }
}

}  // namespace shardmark
