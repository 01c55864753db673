#include "signal.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "profilers/timeline.hpp"

namespace shardmark::cpu {
namespace {

constexpr std::int64_t nap_ns = 50'000'000;  // a sleeper that nobody wakes looks around this often

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t ns) {
  const timespec timeout{ns / 1'000'000'000, ns % 1'000'000'000};
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected,
          &timeout, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 0x7fffffff,
          nullptr, nullptr, 0);
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void Signal::raise(std::uint64_t by) {
  value_.fetch_add(by, std::memory_order_seq_cst);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) futex_wake_all(epoch_);
}

void Signal::wait(std::uint64_t at_least, const Poll& poll) const {
  if (value() >= at_least) return;
  if (spin_ns_ > 0) {
    const std::int64_t until = now_ns() + spin_ns_;
    do {
      for (int i = 0; i < 32; ++i) {
        if (value() >= at_least) return;
        pause();
      }
    } while (now_ns() < until);
  }
  while (true) {
    if (poll) poll();
    const std::uint32_t seen = epoch_.load(std::memory_order_seq_cst);
    sleep(seen, at_least, nap_ns);
    if (value() >= at_least) return;
  }
}

void Signal::sleep(std::uint32_t seen, std::uint64_t at_least, std::int64_t ns) const {
  if (value() >= at_least) return;
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  futex_wait(epoch_, seen, ns);  // returns at once if raise() came in between
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

void Signal::wait_until(std::uint64_t at_least, std::int64_t until_ns) const {
  const std::uint32_t seen = epoch_.load(std::memory_order_seq_cst);
  if (const std::int64_t ns = until_ns - now_ns(); ns > 0) sleep(seen, at_least, ns);
}

}  // namespace shardmark::cpu
