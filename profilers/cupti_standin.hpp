#pragma once
// How do the tests play a GPU to CUPTI's recorder? The controls of cupti_standin.cpp, a libcupti
// without a GPU, which records what it is told. With CUPTI_STANDIN_IS_TAKEN in the environment
// another profiler has it.
#include <cstdint>
#include <string>
#include <vector>

namespace shardmark {

class CuptiStandin {
 public:
  struct Script {
    int subscribe = 0, enable = 0;           // what it answers, as CUptiResult
    std::size_t records_a_buffer = 1 << 20;  // at most
    std::uint64_t drops = 0;                 // records that it loses
    bool spoils = false;                     // what it writes cannot be read
  };
  enum class What { kernel, kernel_by_driver, copy, copy_to_peer, set };
  struct Work {
    What what = What::kernel;
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint32_t stream = 0;
    const char* name = "gelu";
    std::uint64_t bytes = 0;
  };
  struct Seen {
    bool subscribed = false;
    std::size_t enabled = 0, buffers_out = 0;  // buffers that it was given and has not handed back
    std::uint64_t clock_ns = 0;                // by the recorder's clock
  };
  virtual void reset(const Script&) = 0;
  // A call of CUDA's by this thread, and its number; what it enqueued once that has run, on any.
  virtual std::uint32_t call(What) = 0;
  virtual void ran(std::uint32_t call, const Work&) = 0;
  void enqueue(const Work& w) { ran(call(w.what), w); }
  virtual Seen seen() = 0;

 protected:
  ~CuptiStandin() = default;
};

// Exported under this name.
inline constexpr const char* cupti_standin_symbol = "shardmark_cupti_standin";
using GetCuptiStandin = CuptiStandin* (*)();

}  // namespace shardmark
