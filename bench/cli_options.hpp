#pragma once
// Which flags are refused though the parser takes them? What every command asks of its own.
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace shardmark {

// A flag that stands twice, unless it is one of `repeatable`, or whose text is empty: an unset
// variable of a shell would count as not given, and something else would be done. Throws
// InputError. is_list: whether a flag takes values between commas.
void check_options(
    const CLI::App& command, const std::vector<std::string>& repeatable = {},
    const std::function<bool(const std::string&)>& is_list = [](const auto&) { return false; });

// Of a command whose --format is text or json, text where it is empty. Throws InputError.
bool is_json(const std::string& format);

}  // namespace shardmark
