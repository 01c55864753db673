// Which records contradict each other, or their own claims? See checks.hpp.
#include "bench/checks.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "bench/record.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

// What may differ between cells that compute the same.
std::string group_of(const json& record) {
  json key = record["cell"];
  for (const char* free :
       {"id", "overlap", "all_reduce", "bucket_bytes", "buckets", "memory_limit_bytes",
        "memory_limit_bytes_reason", "timeout_s", "comm_timeout_s", "inject"})
    key.erase(free);
  if (key["accumulate"] == 1) key.erase("strategy");
  // Two builds, or two texts of the same name, are two experiments.
  key["commit"] = record["commit"];
  key["corpus"] = record["corpus"];
  return key.dump();
}

bool compared(const json& record) {
  return text_at(record, "status") == "ok" && text_at(record["cell"], "comm") == "thread" &&
         record["training"].is_object();
}

using Groups = std::map<std::string, std::vector<const json*>>;

Groups groups_of(const std::vector<json>& records) {
  Groups groups;
  for (const json& r : records)
    if (compared(r)) groups[group_of(r)].push_back(&r);
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

void compare(const json& record, const json& with, std::vector<Finding>& findings) {
  const auto add = [&](const char* check, const std::string& what) {
    findings.push_back({id_at(record), record["round"], check,
                        fmt::format("{} {} than {}", text_of(record), what, text_of(with))});
  };
  const json &mine = record["training"], &theirs = with["training"];
  if (mine["parameter_hash"] != theirs["parameter_hash"])
    add("same_parameters", "ends with other parameters");
  if (mine["loss"] != theirs["loss"]) {
    std::size_t step = 0;
    while (step < mine["loss"].size() && step < theirs["loss"].size() &&
           mine["loss"][step] == theirs["loss"][step])
      ++step;
    add("same_loss", fmt::format("has another loss from step {} on", step));
  }
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
  return findings;
}

int compared_groups(const std::vector<json>& records) {
  int groups = 0;
  for (const auto& [key, group] : groups_of(records)) {
    std::set<std::string> ids;
    for (const json* r : group) ids.insert(id_at(*r));
    groups += ids.size() > 1 ? 1 : 0;
  }
  return groups;
}

}  // namespace shardmark
