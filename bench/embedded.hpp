#pragma once
// Which texts of the source tree does the binary carry? bench/embed.cmake writes their contents
// into it at build time.
#include <string>
#include <string_view>
#include <vector>

namespace shardmark {

// name: the file's own, such as "corpus.txt" or "default.suite". Throws Error where it is not
// carried.
std::string_view embedded(std::string_view name);
std::vector<std::string> embedded_names(std::string_view extension);

}  // namespace shardmark
