// Which flags are refused though the parser takes them? See cli_options.hpp.
#include "bench/cli_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/text.hpp"
#include "kernels/error.hpp"

namespace shardmark {

void check_options(const CLI::App& command, const std::vector<std::string>& repeatable,
                   const std::function<bool(const std::string&)>& is_list) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() > 1 &&
        std::find(repeatable.begin(), repeatable.end(), name) == repeatable.end())
      throw InputError(given_twice(name, is_list(name)));
    for (const std::string& value : option->results())
      if (value.empty())
        throw InputError(fmt::format("{} is \"\", but must be {}; see shardmark {} --help.", name,
                                     option->get_type_name(), command.get_name()));
  }
}

bool is_json(const std::string& format) {
  if (!format.empty() && format != "text" && format != "json")
    throw InputError(fmt::format("--format is \"{}\", but must be text or json{}", format,
                                 suggestion(format, {"text", "json"})));
  return format == "json";
}

}  // namespace shardmark
