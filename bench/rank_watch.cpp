// What does a rank that is a process say when it is asked to end? See rank_watch.hpp.
#include "bench/rank_watch.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "bench/last_words.hpp"
#include "profilers/timeline.hpp"

namespace shardmark {

namespace {

constexpr useconds_t time_to_speak_us = 300'000;

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, s);
  return set;
}

}  // namespace

RankWatch::RankWatch() {
  const sigset_t set = ending_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC);
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  require(signals_ >= 0 && wake_ >= 0, "signals cannot be watched on this system");
  thread_ = std::thread([this] { run(); });
}

RankWatch::~RankWatch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ::eventfd_write(wake_, 1);
  thread_.join();
  ::close(signals_);
  ::close(wake_);
}

RankWatch::Watching RankWatch::watch(World& world, Say say, double seconds,
                                     std::function<void()> late) {
  const std::int64_t until = seconds > 0 ? now_ns() + static_cast<std::int64_t>(seconds * 1e9) : 0;
  {
    const std::lock_guard lock(mutex_);
    watched_ = {&world, std::move(say), until, std::move(late)};
  }
  ::eventfd_write(wake_, 1);
  return Watching(*this);
}

void RankWatch::forget() {
  const std::lock_guard lock(mutex_);
  watched_.reset();
}

int RankWatch::wait_ms() {
  if (!watched_ || watched_->until_ns == 0) return -1;
  const std::int64_t left = (watched_->until_ns - now_ns()) / 1'000'000 + 1;
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

void RankWatch::run() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    const int ms = wait_ms();
    lock.unlock();
    std::array<pollfd, 2> ready = {{{signals_, POLLIN, 0}, {wake_, POLLIN, 0}}};
    ::poll(ready.data(), ready.size(), ms);
    lock.lock();
    eventfd_t unused = 0;
    if (ready[1].revents) ::eventfd_read(wake_, &unused);
    if (ready[0].revents) {
      signalfd_siginfo info{};
      const bool read = ::read(signals_, &info, sizeof info) == sizeof info;
      if (watched_)
        watched_->say(last_words_line(watched_->world->rank(), watched_->world->activity()));
      // A launcher may end its patience with all ranks as soon as one of them is gone (mpirun's
      // wait is cut short by that): each leaves the others time to speak.
      ::usleep(time_to_speak_us);
      ::_exit(128 + (read ? static_cast<int>(info.ssi_signo) : SIGTERM));
    }
    if (watched_ && watched_->until_ns > 0 && now_ns() > watched_->until_ns) {
      watched_->until_ns = 0;
      watched_->late();
    }
  }
}

}  // namespace shardmark
