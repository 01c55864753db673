#pragma once
// How does one thread wait for another here? A counter that only grows. Waiting spins for a moment
// where cores are free, then sleeps on a futex; a sleeper wakes now and then to poll for failures,
// so no wait can outlive a dead rank.
#include <atomic>
#include <cstdint>
#include <functional>

namespace shardmark::cpu {

using Poll = std::function<void()>;  // throws when waiting makes no sense any more

class Signal {
 public:
  explicit Signal(std::int64_t spin_ns = 0) : spin_ns_(spin_ns) {}
  std::uint64_t value() const { return value_.load(std::memory_order_acquire); }
  void raise(std::uint64_t by = 1);  // safe from several threads
  void wait(std::uint64_t at_least, const Poll& poll) const;
  // Asleep until then (now_ns()) or until the counter is there; may wake earlier.
  void wait_until(std::uint64_t at_least, std::int64_t until_ns) const;

 private:
  void sleep(std::uint32_t seen, std::uint64_t at_least, std::int64_t ns) const;
  std::atomic<std::uint64_t> value_{0};
  mutable std::atomic<std::uint32_t> epoch_{0};
  mutable std::atomic<std::uint32_t> sleepers_{0};
  std::int64_t spin_ns_;
};

}  // namespace shardmark::cpu
