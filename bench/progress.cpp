// How far is the run? See progress.hpp.
#include "bench/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "bench/record.hpp"
#include "bench/watched.hpp"

namespace shardmark {

namespace {

std::size_t terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

std::string outcome_text(const nlohmann::json& record) {
  if (text_at(record, "status") != "ok")
    return fmt::format("{}: {}", text_at(record, "status"), text_at(record, "reason"));
  if (const std::string watched = watched_text(record["cell"]); !watched.empty())
    return "ok, " + watched.substr(0, watched.find(':'));
  if (!record.value("time", nlohmann::json()).is_object()) return "ok";
  const double step_ms = record["time"]["median"]["step_ns"].get<double>() * 1e-6;
  return fmt::format("ok, {:.2f} ms a step", step_ms);
}

}  // namespace

std::string duration_text(std::int64_t ns) {
  const std::int64_t seconds = (ns + 500'000'000) / 1'000'000'000;
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
}

Progress::Progress(std::vector<std::string> ahead, std::int64_t rounds)
    : ahead_(std::move(ahead)), rounds_(rounds), terminal_(::isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { clear_line(); }

void Progress::clear_line() {
  if (terminal_) fmt::print(stderr, "\r\033[K");
}

void Progress::starts(const std::string& id, std::int64_t round) {
  if (!terminal_) return;
  const std::int64_t left = left_ns();
  std::string line = fmt::format("[{}/{}] round {}/{}  ", done_, ahead_.size(), round, rounds_);
  if (left > 0) line += fmt::format("{} left  ", duration_text(left));
  line += id;
  clear_line();
  fmt::print(stderr, "{}", line.substr(0, terminal_columns() - 1));
  std::fflush(stderr);
}

void Progress::ended(const nlohmann::json& record) {
  const std::string& id = id_at(record);
  if (text_at(record, "status") != "skipped") {
    const std::int64_t took = record["wall_ns"];
    by_cell_.try_emplace(id).first->second.add(took);
    all_.add(took);
  }
  ++done_;
  // On a terminal only what went wrong stays on the screen.
  if (terminal_ && text_at(record, "status") == "ok") return;
  say(fmt::format("[{}/{}] round {}/{}  {}: {}", done_, ahead_.size(), record["round"].dump(),
                  rounds_, id, outcome_text(record)));
}

void Progress::say(const std::string& sentence) {
  clear_line();
  fmt::print(stderr, "{}\n", sentence);
  std::fflush(stderr);
}

std::int64_t Progress::left_ns() const {
  if (all_.times == 0) return 0;
  std::int64_t left = 0;
  for (std::size_t i = done_; i < ahead_.size(); ++i) {
    const auto known = by_cell_.find(ahead_[i]);
    const Taken& t = known == by_cell_.end() ? all_ : known->second;
    left += t.times == 0 ? all_.total_ns / all_.times : t.total_ns / t.times;
  }
  return left;
}

}  // namespace shardmark
