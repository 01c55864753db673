#pragma once
// Which part of a run do Nsight's tools capture, where they are told to wait for the program? From
// the first rank's first measured step to the last rank's last: cudaProfilerStart and Stop, by the
// driver's names for them, since only a program that uses a GPU has the driver loaded.
#include <mutex>
#include <string>

namespace shardmark {

// One a process, shared by its ranks. Without a driver in this process it does nothing.
class CaptureRange {
 public:
  explicit CaptureRange(int ranks, std::string driver = "libcuda.so.1");
  ~CaptureRange();  // a rank that failed never leaves
  CaptureRange(const CaptureRange&) = delete;
  CaptureRange& operator=(const CaptureRange&) = delete;

  // Each rank once, on a thread that has used its GPU.
  void enter();
  void leave();  // behind a drain

 private:
  void tell(const char* function);
  const int ranks_;
  const std::string driver_;
  std::mutex mutex_;
  int entered_ = 0, left_ = 0;
};

}  // namespace shardmark
