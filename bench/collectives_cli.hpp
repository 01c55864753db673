#pragma once
// What can be typed behind `shardmark collectives`?
#include <string>
#include <vector>

#include "bench/collectives.hpp"

namespace CLI {
class App;
}

namespace shardmark {

CLI::App* add_collectives(CLI::App&, CollectivesArguments&);
// After parsing: refuses a flag that was given twice or empty, with InputError.
void take_collectives_flags(const CLI::App&, CollectivesArguments&);
std::vector<std::string> collectives_flag_names();

}  // namespace shardmark
