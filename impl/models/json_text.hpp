#pragma once
// Which object does a text of JSON hold, and where in it is what is wrong? Of two equal keys a
// reader would keep one: here they are refused.
#include <nlohmann/json.hpp>
#include <string>

namespace shardmark {

inline constexpr int most_levels = 100;  // values are printed and copied level by level

// "line 3, column 7" of byte number `byte`, counted from 0: columns are characters of UTF-8.
std::string place_in(const std::string& text, std::size_t byte);

// kind: what the file is, "a config.json". Throws InputError, one sentence with the file.
nlohmann::json json_object(const std::string& text, const std::string& file, const char* kind);

}  // namespace shardmark
