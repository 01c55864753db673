#pragma once
// How are predictions shown? A table for each model and setting, a row a strategy and N.
#include <string>

#include "bench/prediction.hpp"

namespace shardmark {

// "gpt2: 124,439,808 parameters, ...", and a cell's settings in a sentence without a full stop.
std::string model_in_words(const Prediction&);
std::string settings_in_words(const Cell&);

std::string predict_text(const std::vector<Prediction>&, const std::optional<Cluster>& = {});

}  // namespace shardmark
