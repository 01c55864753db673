// How is advice handed to programs? The facts of the text, all that was tried, units in the keys.
#include "bench/advise.hpp"
#include "bench/cluster_file.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

json fact(const Advice& a, const Choice& c) {
  const Cell& cell = c.prediction.cell;
  const auto [binds, share] = c.prediction.time->binds();
  return {{"strategy", cell.strategy},
          {"gpus", cell.ranks},
          {"batch", cell.batch},
          {"accumulate", cell.accumulate},
          {"sequence", cell.sequence},
          {"recompute", cell.recompute},
          {"prefetch", cell.prefetch},
          {"peak_bytes", c.prediction.peak_bytes},
          {"model_state_bytes", c.prediction.model_state_bytes()},
          {"needed_memory_bytes", c.prediction.peak_bytes + a.question.reserve},
          {"over_bytes", c.over_bytes},
          {"fits", c.fits()},
          {"naive", c.naive},
          {"step_ns", c.step_ns()},
          {"tokens_per_s", c.prediction.time->tokens_per_s},
          {"binds", binds},
          {"binds_share", share}};
}

json fact(const Advice& a, const std::optional<Choice>& c) { return c ? fact(a, *c) : json(); }

json fact(const Advice& a, std::optional<std::size_t> i) {
  return i ? fact(a, a.tried[*i]) : json();
}

json fact(const std::optional<Turn>& t) {
  if (!t) return {};
  return {{"bytes_per_s", t->bytes_per_ns * 1e9},
          {"strategy", t->strategy},
          {"step_ns", t->step_ns},
          {"step_ns_of_best", t->step_ns_of_best}};
}

}  // namespace

json to_json(const Advice& a) {
  const Question& q = a.question;
  const Prediction& any = a.tried.front().prediction;
  json tried = json::array(), ties = json::array(), lower = json::array();
  for (const Choice& c : a.tried) tried.push_back(fact(a, c));
  for (const std::size_t t : a.ties) ties.push_back(fact(a, a.tried[t]));
  for (const Choice& c : a.lower_stages) lower.push_back(fact(a, c));
  return {{"question",
           {{"model", to_json(any)["model"]},
            {"cell", to_json(q.cell)},
            {"tokens_per_step", any.tokens_per_step},
            {"memory_bytes", q.cluster.memory_bytes},
            {"reserve_bytes", q.reserve},
            {"link", is_between_nodes(q.cluster, q.cell.ranks) ? "between_nodes" : "inside_node"},
            {"link_bytes_per_s", link_rate(q.cluster, q.cell.ranks) * 1e9},
            {"cluster", to_json(q.cluster)},
            {"cluster_given", q.cluster_given}}},
          {"tried", tried},
          {"best", fact(a, a.best)},
          {"ties", ties},
          {"smallest", fact(a, a.tried[a.smallest])},
          {"memory", {{"next_faster", fact(a, a.next_faster)}, {"fastest", fact(a, a.fastest)}}},
          {"link",
           {{"slower", fact(a.slower_link)}, {"faster", fact(a.faster_link)}, {"step", link_step}}},
          {"gpus",
           {{"lower_stages", lower},
            {"fewest", fact(a, a.fewest)},
            {"half_of_fewest", fact(a, a.half_of_fewest)},
            {"more", fact(a, a.more)}}},
          {"other_recompute", fact(a, a.other_recompute)},
          {"shorter", fact(a, a.shorter)}};
}

}  // namespace shardmark
