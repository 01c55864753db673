#pragma once
// What do the sections of an explained cell share? Numbers and their absence in one form, and the
// section of traffic, which is a file of its own.
#include <nlohmann/json.hpp>
#include <string>

namespace shardmark::explained {

inline constexpr std::size_t columns = 100;
inline constexpr const char* none = "–";

std::string whole(const nlohmann::json& value);
std::string difference(const nlohmann::json& measured, const nlohmann::json& exact);
// Why a value of the record is missing.
std::string why(const nlohmann::json& in, const std::string& key);

std::string traffic_section(const nlohmann::json& record);

}  // namespace shardmark::explained
