#pragma once
// Who are the ranks, and how do they die together? World is not the transport: it exchanges a few
// host bytes that nobody counts, and carries the first failure to every wait of every rank.
#include <string>
#include <vector>

#include "kernels/error.hpp"

namespace shardmark {

struct Failure {
  int rank = -1;
  std::string what;  // which verb, which step, and what happened
};

// Thrown in every rank that waits once another one has failed.
class PeerFailed : public Error {
  using Error::Error;
};

class World {
 public:
  virtual ~World() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::vector<std::string> gather(
      const std::string& mine) = 0;         // collective; everybody gets all, by rank
  virtual void fail(Failure) noexcept = 0;  // the first one wins
  virtual void check() const = 0;           // throws PeerFailed if someone failed
};

}  // namespace shardmark
