#pragma once
// How does a model run of which only the architecture is known? On the dry device alone: its
// products, as long as they take, and one pass over whatever else a unit reads and writes.
#include "impl/models/model.hpp"

namespace shardmark {

std::unique_ptr<Model> outline_model(Rank&, const Architecture&, const Options&);

}  // namespace shardmark
