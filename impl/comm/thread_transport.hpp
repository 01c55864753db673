#pragma once
// How do messages get from one thread to the next? A sender leaves word where its message stands,
// and the receiver copies it to where it wants it.
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "impl/comm/transport.hpp"
#include "kernels/cpu/signal.hpp"

namespace shardmark {

// The mailboxes of all ranks of a process; outlives them.
class ThreadPost {
 public:
  explicit ThreadPost(int ranks);
  ~ThreadPost();

 private:
  friend class ThreadTransport;
  static constexpr std::size_t places = 64;
  // From one rank to the next. Written by the sender: messages, left; by the receiver: taken.
  struct alignas(128) Mailbox {
    std::array<ConstView, places> messages;
    std::atomic<std::uint64_t> left{0}, taken{0};
    cpu::Signal news;  // for the rank whose mailbox it is: a message came, or one of its own went
  };
  std::vector<std::unique_ptr<Mailbox>> mailboxes_;  // by receiver
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(ThreadPost&, int rank);
  void send(ConstView) override;
  void receive(View v) override { wanted_.push_back(v); }
  std::uint64_t sent() override;
  std::uint64_t received() override;
  void rest(std::int64_t until_ns) override;
  std::uint64_t moved_bytes() const override { return moved_; }

 private:
  ThreadPost::Mailbox& mine_;  // from the rank before
  ThreadPost::Mailbox& next_;
  cpu::Signal& sender_news_;  // of the rank before
  std::deque<View> wanted_;   // where the next messages go
  std::uint64_t seen_ = 0;    // of my news
  std::uint64_t moved_ = 0;
};

}  // namespace shardmark
