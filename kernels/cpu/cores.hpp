#pragma once
// Which cores may this process use? Its affinity, not what the machine has.
#include <cstdint>
#include <string>
#include <vector>

namespace shardmark {

int usable_cores();

// How long a wait may spin before it sleeps, in ns: only where every thread has a core.
std::int64_t spin_ns(int threads, int cores);

// Their numbers as text that other processes of this machine can read: "0 1 5".
std::string usable_core_list();
// How many there are in several such lists together.
int cores_of(const std::vector<std::string>& lists);

}  // namespace shardmark
