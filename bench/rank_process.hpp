#pragma once
// What does a process do that a launcher started as one rank? It ends with its launcher, starts
// MPI, does its part, and says how that ended in one line of JSON: rank 0 the answer, any rank its
// failure or, asked to end, its last words (last_words.hpp).
#include <functional>
#include <nlohmann/json.hpp>

#include "bench/rank_watch.hpp"
#include "impl/comm/mpi.hpp"

namespace shardmark {

struct RankJob {
  mpi::Session& session;
  mpi::FailureSink sink;  // for session.group()
  RankWatch& watch;
  RankWatch::Say say;
  // Rank 0's text, on every rank.
  std::string shared(const std::function<std::string()>& on_rank_0) const;
};

// On standard output, in one write where it is short: lines of several ranks do not mix then.
void print_line(const nlohmann::json&);

// The body runs on every rank; what it returns on rank 0 is printed. Returns the exit code; a rank
// whose body throws ends the whole job.
int rank_process(const std::function<nlohmann::json(const RankJob&)>& body);

}  // namespace shardmark
