#pragma once
// What can be typed behind `shardmark predict`, and what does it do?
#include <string>
#include <vector>

#include "bench/cell_cli.hpp"

namespace shardmark {

struct PredictArguments {
  TypedCell cell;
  std::string format, strategy_config, memory, cluster, estimators;  // as typed; empty: not given
};

CLI::App* add_predict(CLI::App&, PredictArguments&);
std::vector<std::string> predict_flag_names();
int predict_command(const CLI::App&, const PredictArguments&);

}  // namespace shardmark
