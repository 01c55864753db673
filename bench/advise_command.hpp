#pragma once
// What can be typed behind `shardmark advise`, and what does it do?
#include <string>
#include <vector>

#include "bench/cell_cli.hpp"

namespace shardmark {

struct AdviseArguments {
  TypedCell cell;
  std::string gpus, memory, bandwidth, reserve, cluster, format;  // as typed; empty: not given
};

CLI::App* add_advise(CLI::App&, AdviseArguments&);
std::vector<std::string> advise_flag_names();

// Returns 0: that nothing fits is an answer. Throws InputError.
int advise_command(const CLI::App&, const AdviseArguments&);

// "50GB/s" or "400gbit": bytes a ns. Throws InputError.
double bandwidth_of(const std::string& flag, const std::string& text);

}  // namespace shardmark
