// How is a cell run in a process of its own, and how did that process end? See process.hpp.
#include "bench/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "kernels/error.hpp"
#include "profilers/timeline.hpp"

extern char** environ;

namespace shardmark {

namespace {

constexpr std::size_t errors_kept = 4096;

sigset_t interrupting() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, s);
  return set;
}

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

void check_system(bool ok, const char* what) {
  if (!ok)
    throw Error(
        fmt::format("a cell's process could not be started: {}: {}.", what, std::strerror(errno)));
}

struct Pipe {
  Descriptor read, write;
  Pipe() {
    int ends[2];
    check_system(::pipe2(ends, O_CLOEXEC) == 0, "pipe");
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
};

// An unnamed file in memory: a full disk cannot keep a cell from starting.
Descriptor file_of(const std::string& text) {
  Descriptor file(::memfd_create("cell", MFD_CLOEXEC));
  check_system(file.get() >= 0, "memfd_create");
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(file.get(), text.data() + done, text.size() - done);
    check_system(n > 0, "write");
    done += static_cast<std::size_t>(n);
  }
  check_system(::lseek(file.get(), 0, SEEK_SET) == 0, "lseek");
  return file;
}

pid_t spawn(const std::string& file, const std::vector<std::string>& arguments, int in, int out,
            int err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  // A group of its own: Ctrl-C reaches the parent alone, which then ends the child and says so.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  errno = posix_spawn(&pid, file.c_str(), &actions, &attributes, argv.data(), environ);
  const bool ok = errno == 0;
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  check_system(ok, "posix_spawn");
  return pid;
}

// false: the other end is closed.
bool read_some(int fd, std::string& into) {
  std::array<char, 65536> piece;
  const ssize_t n = ::read(fd, piece.data(), piece.size());
  if (n > 0) into.append(piece.data(), static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

double seconds_since(std::int64_t ns) { return static_cast<double>(now_ns() - ns) * 1e-9; }

std::uint64_t resident_bytes(pid_t pid) {
  std::ifstream statm(fmt::format("/proc/{}/statm", pid));
  std::uint64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// One child from its start to its end.
class Watch {
 public:
  Watch(pid_t pid, Descriptor out, Descriptor err, const ProcessLimits& limits,
        Interrupts& interrupts)
      : pid_(pid),
        out_(std::move(out)),
        err_(std::move(err)),
        limits_(limits),
        interrupts_(interrupts) {}

  ProcessEnd to_the_end() {
    while (!ended()) {
      look();
      wait_a_little();
    }
    end_.wall_ns = now_ns() - start_;
    // What it wrote is in the pipes by now; whoever else holds them open is not waited for.
    for (const int fd : {out_.get(), err_.get()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
    while (read_some(out_.get(), end_.output)) {
    }
    while (read_some(err_.get(), end_.errors)) {
    }
    if (end_.errors.size() > errors_kept) end_.errors.erase(0, end_.errors.size() - errors_kept);
    return std::move(end_);
  }

 private:
  bool ended() {
    int status = 0;
    const pid_t got = ::waitpid(pid_, &status, killed_ ? 0 : WNOHANG);
    if (got != pid_) return got < 0 && errno == ECHILD;
    if (WIFEXITED(status)) end_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) end_.signal = WTERMSIG(status);
    if (WIFSIGNALED(status) && stopped_at_ == 0) end_.how = ProcessEnd::How::crashed;
    return true;
  }
  void look() {
    const double seconds = seconds_since(start_);
    if (stopped_at_ > 0) {
      interrupts_.seen();  // one more changes nothing, but unread it would end every wait
      if (seconds_since(stopped_at_) > limits_.grace_s) kill();
      return;
    }
    if (limits_.resident_bytes > 0)
      end_.resident_peak_bytes = std::max(end_.resident_peak_bytes, resident_bytes(pid_));
    if (interrupts_.seen()) {
      stop(ProcessEnd::How::interrupted);
    } else if (limits_.timeout_s > 0 && seconds > limits_.timeout_s) {
      stop(ProcessEnd::How::timed_out);
    } else if (end_.resident_peak_bytes > limits_.resident_bytes) {
      stop(ProcessEnd::How::over_memory);
    }
  }
  void stop(ProcessEnd::How why) {
    end_.how = why;
    stopped_at_ = now_ns();
    limits_.grace_s > 0 ? static_cast<void>(::kill(pid_, SIGTERM)) : kill();
  }
  void kill() {
    killed_ = true;
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // before it has its group
  }
  void wait_a_little() {
    if (killed_) return;
    // The child's end closes its pipes and so ends the wait; memory has to be looked at.
    const int most_ms = limits_.resident_bytes > 0 ? 10 : 100;
    std::array<pollfd, 3> watched = {{{interrupts_.descriptor(), POLLIN, 0},
                                      {out_open_ ? out_.get() : -1, POLLIN, 0},
                                      {err_open_ ? err_.get() : -1, POLLIN, 0}}};
    // Both pipes closed and still alive: look again soon.
    if (::poll(watched.data(), watched.size(), out_open_ || err_open_ ? most_ms : 1) <= 0) return;
    if (watched[1].revents) out_open_ = read_some(out_.get(), end_.output);
    if (watched[2].revents) err_open_ = read_some(err_.get(), end_.errors);
    if (end_.errors.size() > 16 * errors_kept)
      end_.errors.erase(0, end_.errors.size() - errors_kept);
  }

  pid_t pid_;
  Descriptor out_, err_;
  ProcessLimits limits_;
  Interrupts& interrupts_;
  std::int64_t start_ = now_ns(), stopped_at_ = 0;
  bool killed_ = false, out_open_ = true, err_open_ = true;
  ProcessEnd end_;
};

}  // namespace

Interrupts::Interrupts() {
  const sigset_t set = interrupting();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  descriptor_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  require(descriptor_ >= 0, "signals cannot be watched on this system");
}

Interrupts::~Interrupts() {
  ::close(descriptor_);
  const sigset_t set = interrupting();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool Interrupts::seen() {
  signalfd_siginfo info{};
  while (::read(descriptor_, &info, sizeof info) == static_cast<ssize_t>(sizeof info))
    if (signal_ == 0) signal_ = static_cast<int>(info.ssi_signo);
  return signal_ != 0;
}

ProcessEnd run_program(const std::string& file, const std::vector<std::string>& arguments,
                       const std::string& input, const ProcessLimits& limits,
                       Interrupts& interrupts) {
  const Descriptor in = file_of(input);
  Pipe out, err;
  const pid_t pid = spawn(file, arguments, in.get(), out.write.get(), err.write.get());
  out.write.close();
  err.write.close();
  return Watch(pid, std::move(out.read), std::move(err.read), limits, interrupts).to_the_end();
}

ProcessEnd run_self(const std::vector<std::string>& arguments, const std::string& input,
                    const ProcessLimits& limits, Interrupts& interrupts) {
  return run_program("/proc/self/exe", arguments, input, limits, interrupts);
}

void die_with_parent() {
  const pid_t parent = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(
      PR_SET_NAME,
      "shardmark cell");  // it was exec'd as /proc/self/exe, and lists of processes would say "exe"
  if (::getppid() != parent) ::_exit(1);
}

void limit_allocation(std::uint64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  // The soft limit alone: in a world that was given, the next cell has another one.
  limit.rlim_cur = limit.rlim_max;
  if (bytes == 0) ::setrlimit(RLIMIT_DATA, &limit);
  if (bytes == 0) return;
  // The kernel counts what is there already (the program, its libraries' data, a sanitizer's
  // tables) and so does this limit; without /proc only the parent watches.
  std::ifstream status("/proc/self/status");
  std::uint64_t now_kib = 0;
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmData:", 0) == 0) now_kib = std::strtoull(line.c_str() + 7, nullptr, 10);
  if (now_kib == 0) return;
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(now_kib * 1024 + bytes));
  ::setrlimit(RLIMIT_DATA, &limit);
}

std::string signal_text(int signal) {
  const char* name = ::sigabbrev_np(signal);
  const char* text = ::sigdescr_np(signal);
  return name && text ? fmt::format("SIG{} ({})", name, text) : fmt::format("signal {}", signal);
}

}  // namespace shardmark
