#pragma once
// What would this machine be as a cluster? Measured, in some 15 s: what each kind of op takes
// inside of training steps, on as many ranks as there are cores, of models whose sizes no suite
// has; what a collective takes; and the ceilings.
#include <functional>
#include <string>

#include "impl/cluster.hpp"

namespace shardmark {

// say: gets a line when something begins.
Cluster calibrated(const std::function<void(const std::string&)>& say);

}  // namespace shardmark
