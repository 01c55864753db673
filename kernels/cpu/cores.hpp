#pragma once
// How many cores may this process use? Its affinity, not what the machine has.

namespace shardmark {

int usable_cores();

}  // namespace shardmark
