#include "cores.hpp"

#include <sched.h>
#include <unistd.h>

#include <set>
#include <sstream>

namespace shardmark {

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));  // more cores than the set has room for
}

std::int64_t spin_ns(int threads, int cores) { return threads <= cores ? 50'000 : 0; }

std::string usable_core_list() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string list;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) list += std::to_string(core) + " ";
  return list;
}

int cores_of(const std::vector<std::string>& lists) {
  std::set<int> all;
  for (const std::string& list : lists) {
    std::istringstream in(list);
    for (int core = 0; in >> core;) all.insert(core);
  }
  return all.empty() ? static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))
                     : static_cast<int>(all.size());
}

}  // namespace shardmark
