#pragma once
// Which NVTX calls did a process make? What the tests' own profiler, nvtx_recorder.cpp, heard.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardmark {

struct NvtxCalls {
  struct Call {  // of nvtxDomainRangePushEx or nvtxDomainRangePop
    bool push = false;
    std::uint32_t thread = 0;
    std::string domain{};
    // Of a push.
    std::string message{};
    bool registered = false;
    std::string category{};
    bool has_payload = false;  // of 64 bits without sign
    std::uint64_t payload = 0;
  };
  std::vector<Call> calls;
  std::map<std::uint32_t, std::string> threads;  // their names
  std::map<std::string, int> registrations;      // how often each string was registered
};

// What was heard since the last call of it, in order; exported by the recorder under this name.
inline constexpr const char* nvtx_calls_symbol = "shardmark_take_nvtx_calls";
using TakeNvtxCalls = void (*)(NvtxCalls*);

}  // namespace shardmark
