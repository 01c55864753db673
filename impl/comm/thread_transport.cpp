#include "impl/comm/thread_transport.hpp"

#include <fmt/format.h>

#include <cstring>
#include <thread>

#include "profilers/timeline.hpp"

namespace shardmark {

ThreadPost::ThreadPost(int ranks) {
  for (int r = 0; r < ranks; ++r) mailboxes_.push_back(std::make_unique<Mailbox>());
}
ThreadPost::~ThreadPost() = default;

ThreadTransport::ThreadTransport(ThreadPost& post, int rank)
    : mine_(*post.mailboxes_[static_cast<std::size_t>(rank)]),
      next_(*post.mailboxes_[(static_cast<std::size_t>(rank) + 1) % post.mailboxes_.size()]),
      sender_news_(post.mailboxes_[(static_cast<std::size_t>(rank) + post.mailboxes_.size() - 1) %
                                   post.mailboxes_.size()]
                       ->news) {}

void ThreadTransport::send(ConstView v) {
  const std::uint64_t at = next_.left.load(std::memory_order_relaxed);
  require(at - next_.taken.load(std::memory_order_acquire) < ThreadPost::places,
          "more messages are on their way than the mailbox has places");
  next_.messages[at % ThreadPost::places] = v;
  next_.left.store(at + 1, std::memory_order_release);
  next_.news.raise();
  moved_ += v.bytes();
}

std::uint64_t ThreadTransport::sent() { return next_.taken.load(std::memory_order_acquire); }

std::uint64_t ThreadTransport::received() {
  std::uint64_t taken = mine_.taken.load(std::memory_order_relaxed);
  const std::uint64_t left = mine_.left.load(std::memory_order_acquire);
  const std::uint64_t before = taken;
  for (; taken < left && !wanted_.empty(); ++taken) {
    const ConstView from = mine_.messages[taken % ThreadPost::places];
    const View to = wanted_.front();
    require(from.bytes() == to.bytes(),
            fmt::format("ranks disagree on what to do: a message of {} bytes came where one of {} "
                        "was expected",
                        from.bytes(), to.bytes()));
    std::memcpy(reinterpret_cast<void*>(to.address()),
                reinterpret_cast<const void*>(from.address()), to.bytes());
    wanted_.pop_front();
    mine_.taken.store(taken + 1, std::memory_order_release);
  }
  if (taken != before) sender_news_.raise();
  return taken;
}

void ThreadTransport::rest(std::int64_t until_ns) {
  const std::uint64_t news = mine_.news.value();
  if (news == seen_) {
    if (until_ns <= now_ns())
      std::this_thread::yield();
    else
      mine_.news.wait_until(news + 1, until_ns);
  }
  seen_ = news;
}

}  // namespace shardmark
