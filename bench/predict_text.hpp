#pragma once
// How are predictions shown? A table for each model and setting, a row a strategy and N.
#include <optional>
#include <string>

#include "bench/prediction.hpp"

namespace shardmark {

// "gpt2: 124,439,808 parameters, ...", and a cell's settings in a sentence without a full stop.
std::string model_in_words(const Prediction&);
std::string settings_in_words(const Cell&);

// cluster: that the times are of; memory_bytes: of a rank, then rows say what they lack.
std::string predict_text(const std::vector<Prediction>&, const std::optional<Cluster>& cluster = {},
                         std::optional<double> memory_bytes = {});

}  // namespace shardmark
