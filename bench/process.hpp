#pragma once
// How is a cell run in a process of its own, and how did that process end? It is exec'd
// (posix_spawn), gets its input on standard input, and answers on standard output; it is watched
// for time and resident memory, and ended with its parent.
#include <cstdint>
#include <string>
#include <vector>

namespace shardmark {

// While one of these lives, SIGINT, SIGTERM and SIGHUP do not end this process: they are read here.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  bool seen();                                    // stays true
  int descriptor() const { return descriptor_; }  // readable when one has come
  int signal() const { return signal_; }          // the first one; 0: none

 private:
  int descriptor_ = -1;
  int signal_ = 0;
};

struct ProcessLimits {
  double timeout_s = 0;              // 0: none
  std::uint64_t resident_bytes = 0;  // 0: none
  // How long it may take to clean up: it gets SIGTERM first. 0: SIGKILL at once.
  double grace_s = 0;
};

struct ProcessEnd {
  enum class How : std::uint8_t {
    exited,
    crashed,
    timed_out,
    over_memory,
    interrupted
  } how = How::exited;
  int exit_code = 0;                      // where exited
  int signal = 0;                         // where crashed
  std::uint64_t resident_peak_bytes = 0;  // as last seen from outside; 0 where it was not watched
  std::int64_t wall_ns = 0;
  std::string output, errors;  // standard output; the end of standard error
};

// Runs this program with these arguments, the first of them its own name. Throws Error where it
// cannot be started.
ProcessEnd run_program(const std::string& file, const std::vector<std::string>& arguments,
                       const std::string& input, const ProcessLimits&, Interrupts&);
// The same with this very program.
ProcessEnd run_self(const std::vector<std::string>& arguments, const std::string& input,
                    const ProcessLimits&, Interrupts&);

// In the process itself: die with the parent, and let no more than this be allocated from now on
// (0: no limit any more).
void die_with_parent();
void limit_allocation(std::uint64_t bytes);

std::string signal_text(int signal);  // "SIGSEGV (Segmentation fault)"

}  // namespace shardmark
