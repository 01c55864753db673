// Which records contradict each other, or their own claims? See checks.hpp.
#include "bench/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "bench/record.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

using Names = std::vector<std::string>;

// Strategies that add the gradients of several micro-steps in one order: once a step, or once a
// micro-step. Of a strategy that is not named here the order is not known.
const std::vector<Names>& families() {
  static const std::vector<Names> all = {{"ddp", "zero1", "zero1_naive"},
                                         {"zero2", "zero2_naive", "zero3"}};
  return all;
}

}  // namespace

std::string summing_family(const std::string& strategy) {
  for (const Names& family : families())
    if (std::find(family.begin(), family.end(), strategy) != family.end()) return family.front();
  return strategy;
}

namespace {

// Sums in rank order repeat bit for bit; a ring adds in an order of each element's own, and a
// library in whatever order it likes.
bool in_rank_order(const json& record) {
  return record["cell"].value("collectives", "memory") == "memory" &&
         text_at(record["cell"], "comm") == "thread";
}

// What may differ between cells that compute the same.
json key_of(const json& record) {
  json key = record["cell"];
  for (const char* free : {"id",
                           "overlap",
                           "all_reduce",
                           "bucket_bytes",
                           "buckets",
                           "prefetch",
                           "keep_last",
                           "persist_below",
                           "recompute",
                           "vocab",
                           "config",
                           "link",
                           "launcher",
                           "interface",
                           "network",
                           "memory_limit_bytes",
                           "memory_limit_bytes_reason",
                           "timeout_s",
                           "comm_timeout_s",
                           "inject",
                           "trace",
                           "profile"})
    key.erase(free);
  // Two builds, or two texts of the same name, are two experiments.
  key["commit"] = record["commit"];
  key["corpus"] = record["corpus"];
  return key;
}

// Bit for bit alike.
std::string group_of(const json& record, bool by_family) {
  json key = key_of(record);
  key.erase("collectives");
  if (key["accumulate"] == 1 || !by_family)
    key.erase("strategy");
  else
    key["strategy"] = summing_family(text_at(key, "strategy"));
  return key.dump();
}

// Alike but for rounding: whoever makes the sums, and in whatever order.
std::string rounding_group_of(const json& record) {
  json key = key_of(record);
  for (const char* free : {"strategy", "comm", "collectives"}) key.erase(free);
  return key.dump();
}

bool compared(const json& record) {
  // Parameters that never changed agree, and show nothing.
  return text_at(record, "status") == "ok" && record["training"].is_object() &&
         record["checks"].value("trained", json(true)) != false;
}

using Groups = std::map<std::string, std::vector<const json*>>;

Groups groups_of(const std::vector<json>& records, bool by_family = true) {
  Groups groups;
  for (const json& r : records)
    if (compared(r) && in_rank_order(r)) groups[group_of(r, by_family)].push_back(&r);
  return groups;
}

// Only those in which something has been added in another order.
Groups rounding_groups_of(const std::vector<json>& records) {
  Groups groups;
  for (const json& r : records)
    if (compared(r)) groups[rounding_group_of(r)].push_back(&r);
  std::erase_if(groups, [](const auto& group) {
    return std::all_of(group.second.begin(), group.second.end(),
                       [](const json* r) { return in_rank_order(*r); });
  });
  return groups;
}

// ddp's first record where there is one: everything else is measured against it.
const json& reference_of(const std::vector<const json*>& group) {
  for (const json* r : group)
    if (text_at((*r)["cell"], "strategy") == "ddp") return *r;
  return *group.front();
}

std::string text_of(const json& record) {
  return fmt::format("{} in round {}", id_at(record), record["round"].dump());
}

bool within(const json& a, const json& b, double relative) {
  if (!a.is_number() || !b.is_number()) return a == b;
  const double x = a, y = b;
  return std::abs(x - y) <= relative * std::max(std::abs(x), std::abs(y));
}
// Squares may be added in another order: with other segments, other partial sums.
bool same_norm(const json& a, const json& b) { return within(a, b, 1e-12); }

// The first step at which two lists by step differ; their length where they are the same.
template <class Same>
std::size_t first_difference(const json& a, const json& b, Same same) {
  std::size_t step = 0;
  while (step < a.size() && step < b.size() && same(a[step], b[step])) ++step;
  return step;
}

void compare(const json& record, const json& with, std::vector<Finding>& findings) {
  const auto add = [&](const char* check, const std::string& what) {
    findings.push_back({id_at(record), record["round"], check,
                        fmt::format("{} {} than {}", text_of(record), what, text_of(with))});
  };
  const json &mine = record["training"], &theirs = with["training"];
  if (mine["parameter_hash"] != theirs["parameter_hash"])
    add("same_parameters", "ends with other parameters");
  const json &loss = mine["loss"], &other = theirs["loss"];
  if (loss != other)
    add("same_loss", fmt::format("has another loss from step {} on",
                                 first_difference(loss, other, std::equal_to<json>())));
  const json norms = mine.value("norm_before", json()),
             other_norms = theirs.value("norm_before", json());
  if (!norms.is_array() || !other_norms.is_array()) return;  // nobody needed it, so nobody made it
  const std::size_t step = first_difference(norms, other_norms, same_norm);
  if (step < std::max(norms.size(), other_norms.size()))
    add("same_norms",
        fmt::format("has another gradient norm before clipping from step {} on", step));
}

bool two_bytes(const json& cell) {
  return cell.value("precision", "fp32") != "fp32" || cell.value("reduce_dtype", "fp32") != "fp32";
}

// A ring adds in f16 what memory adds in f32, so that one may overflow where the other does not:
// from there on their loss scales differ.
std::size_t comparable_steps(const json& mine, const json& theirs) {
  std::size_t steps = rounding_steps;
  if (!mine.value("loss_scale", json()).is_array()) return steps;
  const auto a = mine.value("skipped_at", std::vector<std::size_t>()),
             b = theirs.value("skipped_at", std::vector<std::size_t>());
  const auto [i, j] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (i != a.end()) steps = std::min(steps, *i);
  if (j != b.end()) steps = std::min(steps, *j);
  return steps;
}

// The same training with other roundings: losses and norms, and no parameter bit for bit.
void compare_roughly(const json& record, const json& with, std::vector<Finding>& findings) {
  struct Tolerance {
    double first, later;  // relative: of the first step, whose weights are the same, and of others
  };
  const std::size_t steps = comparable_steps(record["training"], with["training"]);
  const Rounding& by = two_bytes(record["cell"]) ? rounding_short : rounding;
  for (const auto& [key, check, what, tolerance] :
       {std::tuple("loss", "same_loss", "loss", Tolerance{by.first, by.loss}),
        std::tuple("norm_before", "same_norms", "gradient norm before clipping",
                   Tolerance{by.first, by.norm})}) {
    const json mine = record["training"].value(key, json()),
               theirs = with["training"].value(key, json());
    if (!mine.is_array() || !theirs.is_array()) continue;
    std::size_t step = 0;
    const auto allowed = [&, t = tolerance] { return step == 0 ? t.first : t.later; };
    while (step < mine.size() && step < theirs.size() &&
           within(mine[step], theirs[step], allowed()))
      ++step;
    if (step < std::min(steps, std::max(mine.size(), theirs.size())))
      findings.push_back(
          {id_at(record), record["round"], check,
           fmt::format("{} has another {} from step {} on, by more than {} of it, than {}",
                       text_of(record), what, step, allowed(), text_of(with))});
  }
}

// Groups with at least two different cells: others show nothing about sharding.
int of_several_cells(const Groups& all) {
  int groups = 0;
  for (const auto& [key, group] : all) {
    std::set<std::string> ids;
    for (const json* r : group) ids.insert(id_at(*r));
    groups += ids.size() > 1 ? 1 : 0;
  }
  return groups;
}

}  // namespace

std::vector<Finding> failed_checks(const std::vector<json>& records) {
  std::vector<Finding> findings;
  for (const json& r : records) {
    if (!r["checks"].is_object()) continue;
    for (const auto& [check, value] : r["checks"].items())
      if (value == false)
        findings.push_back(
            {r["cell"]["id"], r["round"], check, r["checks"].value(check + "_reason", "")});
  }
  return findings;
}

std::vector<Finding> cross_checks(const std::vector<json>& records) {
  std::vector<Finding> findings;
  for (const auto& [key, group] : groups_of(records)) {
    const json& reference = reference_of(group);
    for (const json* r : group)
      if (r != &reference) compare(*r, reference, findings);
  }
  for (const auto& [key, group] : rounding_groups_of(records)) {
    const json& reference = reference_of(group);
    for (const json* r : group)
      if (r != &reference && !(in_rank_order(*r) && in_rank_order(reference)))
        compare_roughly(*r, reference, findings);
  }
  return findings;
}

int compared_groups(const std::vector<json>& records) {
  return of_several_cells(groups_of(records));
}

std::string agreement_text(const std::vector<json>& records) {
  std::string text;
  if (compared_groups(records) > 0)
    text +=
        "Losses and final parameters are equal, bit for bit, in all cells that compute the same in "
        "rank order.\n";
  if (of_several_cells(rounding_groups_of(records)) > 0)
    text +=
        "Losses and norms of all cells that compute the same, in whatever order, agree to "
        "rounding.\n";
  return text;
}

std::string not_compared(const std::vector<json>& records) {
  std::map<std::string, std::set<std::string>> apart;  // by family
  for (const auto& [key, group] : groups_of(records, false)) {
    if (group.front()->at("cell")["accumulate"] == 1) continue;
    std::map<std::string, std::set<std::string>> here;
    for (const json* r : group) {
      const std::string& strategy = text_at((*r)["cell"], "strategy");
      here[summing_family(strategy)].insert(strategy);
    }
    if (here.size() < 2) continue;
    for (const auto& [family, names] : here) apart[family].insert(names.begin(), names.end());
  }
  std::vector<std::string> parts;
  for (const Names& family : families())
    if (const auto it = apart.find(family.front()); it != apart.end()) {
      parts.push_back(fmt::format("{}", fmt::join(it->second, ", ")));
      apart.erase(it);
    }
  for (const auto& [family, names] : apart) parts.push_back(family);
  return fmt::format("{}", fmt::join(parts, " | "));
}

}  // namespace shardmark
