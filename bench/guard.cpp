// Who sees to it that a launcher leaves nothing behind? See guard.hpp.
#include "bench/guard.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "bench/launcher.hpp"
#include "kernels/error.hpp"
#include "profilers/timeline.hpp"

namespace shardmark {

namespace {

namespace fs = std::filesystem;

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set, s);
  return set;
}

// A folder that goes away, with everything in it. One that was there is not ours.
class OwnFolder {
 public:
  explicit OwnFolder(const std::string& path) {
    if (!path.empty() && ::mkdir(path.c_str(), S_IRWXU) == 0) path_ = path;
  }
  ~OwnFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  const std::string& path() const { return path_; }  // empty: it could not be made

 private:
  std::string path_;
};

// Processes whose parent ended have this one as their parent: those are the launcher's too.
std::vector<pid_t> children() {
  std::ifstream in(fmt::format("/proc/self/task/{}/children", ::getpid()));
  std::vector<pid_t> all;
  for (pid_t child; in >> child;) all.push_back(child);
  return all;
}

class Guard {
 public:
  explicit Guard(const std::vector<std::string>& launcher) { start(launcher); }

  int to_the_end() {
    while (!status_) {
      wait();
      reap();
    }
    end_what_is_left();
    if (asked_at_ > 0) return exit_asked_to_end;
    if (WIFEXITED(*status_)) return WEXITSTATUS(*status_);
    return 128 + WTERMSIG(*status_);
  }

 private:
  void start(const std::vector<std::string>& launcher) {
    std::vector<char*> argv;
    for (const std::string& a : launcher) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    const pid_t guard = ::getpid();
    pid_ = ::fork();
    require(pid_ >= 0, fmt::format("{}{}", no_launcher_text, std::strerror(errno)));
    if (pid_ > 0) ::setpgid(pid_, pid_);  // whichever of the two comes first
    if (pid_ > 0) return;
    // A group of its own, so that one signal reaches what the launcher is made of.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const sigset_t set = watched_signals();
    ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
    if (::getppid() == guard) ::execvp(argv[0], argv.data());
    const std::string why =
        fmt::format("{}{}: {}\n", no_launcher_text, launcher[0], std::strerror(errno));
    const ssize_t written = ::write(STDERR_FILENO, why.data(), why.size());
    ::_exit(written < 0 ? 126 : exit_no_launcher);
  }

  void wait() {
    const sigset_t set = watched_signals();
    const timespec a_little{0, 100'000'000};
    const int signal =
        asked_at_ > 0 ? ::sigtimedwait(&set, nullptr, &a_little) : ::sigwaitinfo(&set, nullptr);
    if (signal > 0 && signal != SIGCHLD && asked_at_ == 0) {
      asked_at_ = now_ns();
      ::kill(-pid_, SIGTERM);
      ::kill(-pid_, SIGCONT);  // one that was stopped would not hear of it
    }
    if (asked_at_ > 0 && now_ns() - asked_at_ > launcher_grace_s * 1'000'000'000LL)
      ::kill(-pid_, SIGKILL);
  }

  void reap() {
    int status = 0;
    for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;)
      if (ended == pid_) status_ = status;
  }

  // What the launcher forgot: a rank that was stopped, a daemon. Two seconds: the system needs
  // some time to free what a large process held.
  void end_what_is_left() {
    const timespec a_little{0, 2'000'000};
    for (int tries = 0; tries < 1000; ++tries) {
      for (const pid_t child : children()) ::kill(child, SIGKILL);
      int status = 0;
      while (::waitpid(-1, &status, WNOHANG) > 0) {
      }
      if (errno == ECHILD) return;
      ::nanosleep(&a_little, nullptr);
    }
  }

  pid_t pid_ = -1;
  std::int64_t asked_at_ = 0;  // now_ns(); 0: nobody asked it to end
  std::optional<int> status_;
};

}  // namespace

int guard(const std::vector<std::string>& arguments) {
  require(arguments.size() >= 4, "shardmark launch: it needs a launcher");
  const sigset_t set = watched_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  const pid_t parent = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // blocked, so it is read as a wish to end
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "shardmark guard");
  if (::getppid() != parent) return 1;
  const OwnFolder session(arguments[1]), shared(arguments[2]);
  for (const auto& [key, value] : mpi_settings(arguments[0], {session.path(), shared.path()}))
    ::setenv(key.c_str(), value.c_str(), 0);
  return Guard({arguments.begin() + 3, arguments.end()}).to_the_end();
}

}  // namespace shardmark
