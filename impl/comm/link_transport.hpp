#pragma once
// What does a slower wire do to messages? Each leaves when the link has had the time to carry it,
// one after another, and arrives its latency later; a link that was idle gains no credit.
#include <deque>
#include <memory>

#include "impl/comm/link.hpp"
#include "impl/comm/transport.hpp"

namespace shardmark {

class LinkTransport final : public Transport {
 public:
  LinkTransport(std::unique_ptr<Transport> inner, Link l) : inner_(std::move(inner)), link_(l) {}
  void send(ConstView) override;
  void receive(View v) override { inner_->receive(v); }
  std::uint64_t sent() override;
  std::uint64_t received() override;
  void rest(std::int64_t until_ns) override;
  std::uint64_t moved_bytes() const override { return inner_->moved_bytes(); }

 private:
  struct OnTheWire {
    ConstView message;
    std::int64_t arrives_ns;
  };
  void deliver();

  std::unique_ptr<Transport> inner_;
  Link link_;
  std::deque<OnTheWire> on_the_wire_;
  std::uint64_t arrived_ = 0;  // messages handed over
  double free_ns_ = 0;         // when the last message has left
};

}  // namespace shardmark
