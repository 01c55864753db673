#include "impl/comm/link_transport.hpp"

#include <algorithm>

#include "profilers/timeline.hpp"

namespace shardmark {

void LinkTransport::send(ConstView v) {
  free_ns_ = std::max(free_ns_, static_cast<double>(now_ns())) +
             static_cast<double>(v.bytes()) / link_.bytes_per_ns;
  on_the_wire_.push_back({v, static_cast<std::int64_t>(free_ns_) + link_.latency_ns});
  deliver();
}

void LinkTransport::deliver() {
  // What has arrived and is not taken yet waits at the receiver's end, within what that can hold.
  constexpr std::uint64_t most = 32;
  for (; !on_the_wire_.empty() && on_the_wire_.front().arrives_ns <= now_ns() &&
         arrived_ - inner_->sent() < most;
       on_the_wire_.pop_front(), ++arrived_)
    inner_->send(on_the_wire_.front().message);
}

std::uint64_t LinkTransport::sent() {
  deliver();
  return inner_->sent();
}

std::uint64_t LinkTransport::received() {
  deliver();
  return inner_->received();
}

// The next arrival is known, so nobody naps past it.
void LinkTransport::rest(std::int64_t until_ns) {
  if (!on_the_wire_.empty() && on_the_wire_.front().arrives_ns > now_ns())
    until_ns = std::min(until_ns, on_the_wire_.front().arrives_ns);
  inner_->rest(until_ns);
}

}  // namespace shardmark
