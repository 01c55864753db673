// Which values of a cell must repeat and do not, and which could not be compared? See
// compare_exact.hpp.
#include "bench/compare_exact.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/text.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
using Keys = std::set<std::string>;

// What a key is of, in the words of the legend: by a part of " KEY,".
constexpr std::pair<const char*, const char*> kinds[] = {
    {" bytes of ", "bytes"},
    {" peak bytes", "peaks"},
    {" calls a step,", "calls"},
    {" volume bytes ", "volumes"},
    {" allocations a step,", "allocations"},
    {" spans of ", "spans"},
    {" loss,", "losses"},
    {" norm before clipping,", "norms"},
    {" hash of the final parameters,", "final parameters"}};

// Of two lists by step the first step that differs says more than both.
Difference difference(const std::string& what, const json& base, const json& head) {
  if (!base.is_array() || !head.is_array()) return {what, base, head};
  if (base.size() != head.size()) return {"steps with a " + what, base.size(), head.size()};
  std::size_t step = 0;
  while (step + 1 < base.size() && base[step] == head[step]) ++step;
  return {fmt::format("{}, from step {} on", what, step), base[step], head[step]};
}

using Part = Facts Exact::*;

Keys keys_of(const Sampled& base, const Sampled& head, Part part) {
  Keys keys;
  for (const Sampled* side : {&base, &head})
    for (const Exact& e : side->exact)
      for (const auto& [key, value] : e.*part) keys.insert(key);
  return keys;
}

bool some_round_has(const Sampled& side, Part part, const std::string& key, const json& value) {
  return std::any_of(side.exact.begin(), side.exact.end(),
                     [&](const Exact& e) { return value_of(e.*part, key) == value; });
}

bool every_round_has(const Sampled& side, Part part, const std::string& key, const json& value) {
  return std::all_of(side.exact.begin(), side.exact.end(),
                     [&](const Exact& e) { return value_of(e.*part, key) == value; });
}

const char* kind_of(const std::string& key) {
  const std::string whole = " " + key + ",";
  for (const auto& [part_of_key, kind] : kinds)
    if (whole.find(part_of_key) != whole.npos) return kind;
  return nullptr;
}

// What a whole side has nothing of, it did not record yet.
std::set<std::string> unrecorded(const Sampled& side, Part part, const Keys& keys) {
  std::set<std::string> none;
  for (const std::string& key : keys)
    if (const char* kind = kind_of(key)) none.insert(kind);
  for (const std::string& key : keys_of(side, side, part))
    if (const char* kind = kind_of(key)) none.erase(kind);
  return none;
}

// A round of head that has another value than every round of base.
void compare_part(const Sampled& base, const Sampled& head, Part part, const Keys& keys,
                  ComparedCell& out) {
  const std::set<std::string> too_new = unrecorded(base, part, keys);
  if (!too_new.empty())
    out.notes.push_back(fmt::format("not compared: {}, which base did not record",
                                    join({too_new.begin(), too_new.end()}, ", ")));
  for (const std::string& key : keys) {
    const char* kind = kind_of(key);
    if (kind && too_new.contains(kind)) continue;
    out.exactly = true;
    if (kind) out.kinds.insert(kind);
    for (const Exact& h : head.exact) {
      const json value = value_of(h.*part, key);
      if (some_round_has(base, part, key, value)) continue;
      out.differences.push_back(difference(key, value_of(base.exact.front().*part, key), value));
      break;
    }
  }
}

void compare_training(const Sampled& base, const Sampled& head, ComparedCell& out) {
  constexpr const char* none = "not compared: losses, norms and final parameters, ";
  if (value_of(base.exact.front().settings, "collectives") == "library") {
    out.notes.push_back(none + std::string("since the MPI library adds in an order of its own"));
    return;
  }
  const std::string other =
      other_fact(base.exact.front().circumstances, head.exact.front().circumstances);
  if (!other.empty()) {
    out.notes.push_back(none + fmt::format("computed under other circumstances ({})", other));
    return;
  }
  Keys repeated;
  std::vector<std::string> others;
  for (const std::string& key : keys_of(base, head, &Exact::training)) {
    const json first = value_of(base.exact.front().training, key);
    if (every_round_has(base, &Exact::training, key, first))
      repeated.insert(key);
    else
      others.push_back(key);
  }
  if (!others.empty())
    out.notes.push_back(fmt::format("not compared: {}, since rounds of base itself differ in {}",
                                    join(others, ", "), others.size() == 1 ? "it" : "them"));
  compare_part(base, head, &Exact::training, repeated, out);
}

// Only what base fails, too, is no news.
void compare_checks(const Sampled& base, const Sampled& head, const CompareOptions& options,
                    ComparedCell& out) {
  constexpr Part part = &Exact::checks;
  for (const std::string& check : keys_of(base, head, part)) {
    const bool failed_before = some_round_has(base, part, check, false);
    if (some_round_has(head, part, check, false)) {
      if (failed_before)
        out.notes.push_back(check + " fails on both sides");
      else
        out.differences.push_back({check, value_of(base.exact.front().checks, check), false});
    } else if (every_round_has(base, part, check, true) &&
               some_round_has(head, part, check, nullptr)) {
      // Another machine may have nothing to check it by.
      if (options.across_machines)
        out.notes.push_back(check + " was made in base and not in head");
      else
        out.differences.push_back({check, true, nullptr});
    }
  }
}

}  // namespace

void compare_exactly(const Sampled& base, const Sampled& head, const CompareOptions& options,
                     ComparedCell& out) {
  if (base.exact.empty() || head.exact.empty()) return;
  const auto all_of = [&](Part part) {
    compare_part(base, head, part, keys_of(base, head, part), out);
  };
  all_of(&Exact::formula);
  if (!options.across_machines) {
    // Without its times another machine may stand beside: its libraries ask for what they like.
    if (!options.exact_only ||
        other_fact(base.exact.front().circumstances, head.exact.front().circumstances).empty())
      all_of(&Exact::memory);
    compare_training(base, head, out);
  }
  compare_checks(base, head, options, out);
}

}  // namespace shardmark
