#pragma once
// How do N ranks run as threads of this process, each with a device and a communicator? For
// benchmarks and tests of collectives; a training starts its own (train.cpp).
#include <functional>

#include "impl/comm/link.hpp"
#include "impl/comm/thread.hpp"
#include "impl/rank.hpp"

namespace shardmark {

// made_by: memory or ring. Throws InputError on library: threads of one process have none.
std::unique_ptr<Communicator> thread_communicator(Device&, ThreadWorld&, Collectives made_by,
                                                  Options::AllReduce, std::optional<Link>);

struct ThreadRanks {
  int ranks = 1;
  Collectives collectives = Collectives::memory;
  Options::AllReduce all_reduce = Options::AllReduce::composed;
  std::optional<Link> link;
  double timeout_s = 60;
  bool overlap = false;  // communication on a thread of its own
};

// Runs body on every rank; what each one failed with, or nothing. All memory of a rank is freed
// only after the last one has ended: peers read it.
std::vector<std::string> run_on_threads(const ThreadRanks&,
                                        const std::function<void(const Rank&)>& body);

}  // namespace shardmark
