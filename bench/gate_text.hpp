#pragma once
// How is what the gate found shown: to people, and as a job's summary?
#include "bench/gate.hpp"

namespace shardmark {

std::string gate_text(const GateReport&, std::size_t columns = 100);
std::string gate_markdown(const GateReport&);

}  // namespace shardmark
