#pragma once
// How is one step of every rank written down small enough that a page of 200 cells can carry it?
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shardmark {

// What the numbers in a compact timeline stand for.
const std::vector<std::string>& timeline_phases();
const std::vector<std::string>& timeline_verbs();

// Of a record's "timeline", lane by lane: begins as differences, lengths and waiting in units of
// 100 ns, phases and verbs as numbers.
inline constexpr std::int64_t timeline_unit_ns = 100;
nlohmann::json compact_timeline(const nlohmann::json& timeline);

// Takes the timelines of the last cells out of a report where all of them would make it heavier
// than this, and says so in their place.
void limit_timelines(nlohmann::json& cells, std::size_t most_bytes);

}  // namespace shardmark
