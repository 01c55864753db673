#pragma once
// Was a run watched while it trained, so that its times are not measurements? Traced or profiled,
// as --trace and --profile ask.
#include <nlohmann/json.hpp>
#include <string>

#include "bench/suite.hpp"

namespace shardmark {

inline constexpr const char* traced_text = "traced: times are not measurements";
inline constexpr const char* profiled_text = "profiled: times are not measurements";

// One of these; empty where nobody watched. Of a record's cell, or of the settings of one.
std::string watched_text(const nlohmann::json& cell);

// Traces all cells of the suite, and profiles them as --profile says (empty: not given). Where
// cells are watched they run once each: a note where more rounds were asked for. rounds: as typed.
// Throws InputError: a cell that cannot be profiled.
void watch_all(Suite&, bool trace, const std::string& profile, const std::string& rounds);

}  // namespace shardmark
