#pragma once
// Did one cell do what it claims? Bytes, calls, and what ranks have to agree on, from the report of
// its training alone.
#include <nlohmann/json.hpp>

#include "impl/train.hpp"

namespace shardmark {

inline constexpr const char* no_scaling = "the loss is not scaled, but in fp16";
inline constexpr const char* no_norm = "clipping is off and nothing else needs the norm";

// in[key] becomes null, with the reason beside it.
void set_missing(nlohmann::json& in, const std::string& key, const std::string& why);

// The ledger's volume over all steps.
std::uint64_t total_volume(const RankReport&);

// The record's "checks": true, or false with the first difference in <check>_reason; null where
// there was nothing to check.
nlohmann::json self_checks(const Training&, const TrainingReport&);

}  // namespace shardmark
