#pragma once
// How do messages get from one rank of a ring to the next? Non-blocking, each direction in order;
// the ring (ring.hpp) is built on nothing else. Used by the thread of the communication queue.
#include "kernels/view.hpp"

namespace shardmark {

class Transport {
 public:
  virtual ~Transport() = default;
  // To the next rank; the memory must stay as it is until sent() has counted the message.
  virtual void send(ConstView) = 0;
  // The next message from the rank before; it must have this size.
  virtual void receive(View) = 0;
  // How many messages have ended, of all so far. These move things on, and never wait.
  virtual std::uint64_t sent() = 0;
  virtual std::uint64_t received() = 0;
  // Sleeps until one of them may have changed, or until then (now_ns()); a time in the past only
  // lets others run.
  virtual void rest(std::int64_t until_ns) = 0;
  virtual std::uint64_t moved_bytes() const = 0;  // of the messages that were sent
};

}  // namespace shardmark
