#pragma once
// How does a rank's report get to the other ranks? As bytes, between processes of this same
// program.
#include <string>

#include "impl/train.hpp"

namespace shardmark {

std::string packed(const RankReport&);
RankReport unpacked(const std::string&);  // throws Error where the bytes are no report

}  // namespace shardmark
