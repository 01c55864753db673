#pragma once
// Which flags of a cell can be typed behind a command, and which of them were?
#include <map>
#include <string>
#include <vector>

#include "bench/suite.hpp"

namespace CLI {
class App;
}

namespace shardmark {

struct TypedCell {
  std::map<std::string, std::string> values;  // by flag, but for --data
  std::vector<std::string> data;
};

// All of cell_flags() but those that the command leaves out.
void add_cell_flags(CLI::App&, TypedCell&, const std::vector<std::string>& without = {});
// After parsing.
Given given_of(const CLI::App&, const TypedCell&);
bool is_list_of_a_cell(const std::string& flag);
std::vector<std::string> cell_flag_names(const std::vector<std::string>& without = {});

}  // namespace shardmark
