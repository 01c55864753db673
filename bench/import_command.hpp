#pragma once
// What does `shardmark import` do with what is typed, and what can be typed behind it?
#include <string>
#include <vector>

#include "bench/import.hpp"

namespace CLI {
class App;
}

namespace shardmark {

struct ImportArguments {
  std::string file, model, ranks, precision, format;  // as typed; empty: not given
};

CLI::App* add_import(CLI::App&, ImportArguments&);
std::vector<std::string> import_flag_names();

// Returns 0. Throws InputError.
int import_command(const ImportArguments&);

std::string import_text(const Imported&, const std::string& file);
nlohmann::json import_json(const Imported&, const std::string& file);

}  // namespace shardmark
