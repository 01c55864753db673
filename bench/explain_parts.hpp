#pragma once
// What do the sections of an explained cell share? Numbers and their absence in one form, and the
// sections that are files of their own.
#include <nlohmann/json.hpp>
#include <string>

namespace shardmark::explained {

inline constexpr std::size_t columns = 100;
inline constexpr const char* none = "–";

std::string whole(const nlohmann::json& value);
std::string difference(const nlohmann::json& measured, const nlohmann::json& exact);
// Why a value of the record is missing.
std::string why(const nlohmann::json& in, const std::string& key);

std::string opening(const nlohmann::json& record);          // explain_head.cpp
std::string traffic_section(const nlohmann::json& record);  // explain_traffic.cpp
std::string profile_section(const nlohmann::json& record);  // explain_profile.cpp

}  // namespace shardmark::explained
