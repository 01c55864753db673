#pragma once
// What does a rank that is a process say when it is asked to end? A thread of its own waits for the
// signal, since the others may be stuck in a wait or in arithmetic; it says what the rank was
// doing, and ends the process.
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "impl/comm/world.hpp"

namespace shardmark {

class RankWatch {
 public:
  using Say = std::function<void(const nlohmann::json& line)>;
  // From here on SIGTERM, SIGINT and SIGHUP end this process with exit code 128 + signal. Made
  // before MPI is started: threads inherit which signals they leave to this one.
  RankWatch();
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  // As long as this lives, say() gets the last words before. late() is called, once, when it has
  // lived so many seconds (0: never).
  class Watching {
   public:
    explicit Watching(RankWatch& w) : watch_(w) {}
    ~Watching() { watch_.forget(); }
    Watching(const Watching&) = delete;
    Watching& operator=(const Watching&) = delete;

   private:
    RankWatch& watch_;
  };
  [[nodiscard]] Watching watch(World&, Say, double seconds = 0, std::function<void()> late = {});

 private:
  struct Watched {
    World* world;
    Say say;
    std::int64_t until_ns;  // 0: for ever
    std::function<void()> late;
  };
  void run();
  void forget();
  int wait_ms();

  std::mutex mutex_;
  std::optional<Watched> watched_;
  int signals_ = -1, wake_ = -1;  // readable: a signal came; something changed
  bool over_ = false;
  std::thread thread_;
};

}  // namespace shardmark
