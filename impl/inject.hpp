#pragma once
// How do tests make something go wrong in one rank, at one place? A short text names it; nothing
// happens without one.
//   delay:rank=1,phase=backward,ms=20    every span of that phase on that rank takes so much longer
//   throw|abort|stuck:rank=1,step=2      inside the first backward span of that step
//   kill|stop:rank=1,step=2              the same, by SIGKILL or SIGSTOP to the rank's process
//   allocate:rank=0,bytes=8000000000     memory taken and touched in the backward spans of step 0
#include <functional>
#include <string>

#include "profilers/timeline.hpp"

namespace shardmark {

// What the given rank does inside each of its spans; empty if nothing is to happen there. Throws
// InputError on a text that it cannot read.
std::function<void(const Interval&)> injection(const std::string& text, int rank);

}  // namespace shardmark
