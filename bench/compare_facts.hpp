#pragma once
// What of a record must repeat exactly, and under which circumstances? Zero tolerance is for what
// is counted or computed in a fixed order, never for times.
#include "bench/compare_side.hpp"

namespace shardmark {

// record: of a training that ended. Throws nlohmann::json::exception where it is not as the schema
// says.
Exact exact_of(const nlohmann::json& record);

}  // namespace shardmark
