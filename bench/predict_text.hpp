#pragma once
// How are predictions shown? A table for each model and setting, a row a strategy and N.
#include <string>

#include "bench/prediction.hpp"

namespace shardmark {

std::string predict_text(const std::vector<Prediction>&, const std::optional<Cluster>& = {});

}  // namespace shardmark
