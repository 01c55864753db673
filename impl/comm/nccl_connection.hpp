#pragma once
// How do ranks find each other in NCCL, and how do they part? Needs NCCL's header.
#include <fmt/format.h>
#include <nccl.h>

#include <cctype>
#include <cstring>
#include <string>
#include <utility>

#include "impl/comm/world.hpp"

namespace shardmark::nccl {

// With the last that NCCL wrote of it, where it did.
inline std::string says(ncclResult_t r) {
  const char* const last = ncclGetLastError(nullptr);
  std::string more = last ? last : "";
  while (!more.empty() && std::isspace(static_cast<unsigned char>(more.back()))) more.pop_back();
  return fmt::format("NCCL: {}{}{}", ncclGetErrorString(r), more.empty() ? "" : ": ", more);
}

inline ncclUniqueId shared_id(World& world) {
  ncclUniqueId id{};
  std::string mine;
  if (world.rank() == 0) {
    if (const ncclResult_t r = ncclGetUniqueId(&id); r != ncclSuccess) throw Error(says(r));
    mine.assign(id.internal, sizeof id.internal);
  }
  const std::string first = world.gather(mine)[0];
  std::memcpy(id.internal, first.data(), sizeof id.internal);
  return id;
}

// A communicator that was made, until abort(), and at the latest until its end. Calls block: NCCL
// launches on the caller's thread, which is where a profiler looks for the span that it is of; a
// call that does not block would start a thread of its own. Making one waits for all ranks, which
// have just met to hear the id: where one dies in between, the cell's --timeout ends the others.
class Connection {
 public:
  explicit Connection(World& w) {
    const ncclUniqueId id = shared_id(w);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 1;
    const ncclResult_t r = ncclCommInitRankConfig(&comm_, w.size(), id, w.rank(), &config);
    if (r != ncclSuccess) throw Error(says(r));
  }
  ~Connection() { abort(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ncclComm_t get() const { return comm_; }
  // get() stays as it is: a call may be under way.
  void abort() {
    if (!std::exchange(aborted_, true)) ncclCommAbort(comm_);
  }

 private:
  ncclComm_t comm_ = nullptr;
  bool aborted_ = false;
};

}  // namespace shardmark::nccl
