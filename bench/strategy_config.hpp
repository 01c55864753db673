#pragma once
// Which cells does `--strategy-config FILE` mean, beside flags that are typed? What FILE says in so
// many words holds, and the strategy with it: a flag that says something else is refused. What it
// leaves out or leaves to others ("auto") a flag may say.
#include <string>
#include <vector>

#include "bench/suite.hpp"

namespace shardmark {

inline constexpr const char* strategy_config_help =
    "a ds_config.json of DeepSpeed or a YAML of Accelerate, which sets strategy and options; a "
    "flag beside it may say what FILE leaves out or \"auto\", and is refused where it contradicts";

// Flags of cells, a set for each combination of typed values that a value in the file may follow
// from (models, ranks, batches, precisions). Without a file: what was typed. without: flags that
// the command does not have. notes: what became of the file, a few lines. Throws InputError.
std::vector<Given> with_strategy_config(const std::string& file, const Given& typed,
                                        const std::vector<std::string>& without,
                                        std::vector<std::string>* notes);

}  // namespace shardmark
