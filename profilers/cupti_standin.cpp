#include "profilers/cupti_standin.hpp"

#include <cupti.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>

// It is true to CUPTI in what the recorder rests on: external ids are a stack a thread, a record of
// one stands before that of the call, and records of calls and of external ids exist only where
// their kinds are enabled.
namespace shardmark {
namespace {

#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
using CopyRecord = CUpti_ActivityMemcpy6;
#else
using KernelRecord = CUpti_ActivityKernel9;
using CopyRecord = CUpti_ActivityMemcpy5;
#endif

std::size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(KernelRecord);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CopyRecord);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
    default:
      return 0;
  }
}

class Library final : public CuptiStandin {
 public:
  Library() {
    if (std::getenv("CUPTI_STANDIN_IS_TAKEN"))
      script.subscribe = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  void reset(const Script& s) override {
    const std::lock_guard lock(mutex);
    script = s;
    dropped = s.drops;
    pending.clear();
  }
  std::uint32_t call(What what) override {
    const std::lock_guard lock(mutex);
    const bool by_driver = what == What::kernel_by_driver;
    keep_call(++calls, by_driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME);
    return calls;
  }
  void ran(std::uint32_t correlation, const Work& w) override {
    const std::lock_guard lock(mutex);
    switch (w.what) {
      case What::kernel:
      case What::kernel_by_driver: {
        auto r = timed<KernelRecord>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, w, correlation);
        r.name = w.name;
        return keep(r);
      }
      case What::copy: {
        auto r = timed<CopyRecord>(CUPTI_ACTIVITY_KIND_MEMCPY, w, correlation);
        r.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, r.bytes = w.bytes;
        return keep(r);
      }
      case What::copy_to_peer: {
        auto r = timed<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2, w, correlation);
        r.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, r.bytes = w.bytes;
        return keep(r);
      }
      case What::set: {
        auto r = timed<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET, w, correlation);
        r.bytes = w.bytes;
        return keep(r);
      }
    }
  }
  Seen seen() override {
    const std::lock_guard lock(mutex);
    return {subscribed, enabled.size(), buffers_out, clock ? clock() : 0};
  }

  // Hands over what is pending, in as many buffers as it takes.
  void flush() {
    std::unique_lock lock(mutex);
    while (!pending.empty()) {
      std::uint8_t* buffer = nullptr;
      std::size_t bytes = 0, most = 0, used = 0, records = 0;
      give(&buffer, &bytes, &most);
      if (!buffer) {
        ++dropped;
        pending.pop_front();
        continue;
      }
      ++buffers_out;
      while (!pending.empty() && records < script.records_a_buffer &&
             used + pending.front().size() <= bytes) {
        std::memcpy(buffer + used, pending.front().data(), pending.front().size());
        used += pending.front().size(), ++records;
        pending.pop_front();
      }
      if (script.spoils) std::memset(buffer, 0, sizeof(CUpti_ActivityKind));
      --buffers_out;
      lock.unlock();
      take(nullptr, 0, buffer, bytes, used);
      lock.lock();
    }
  }

  std::mutex mutex;
  Script script{};
  bool subscribed = false;
  std::set<CUpti_ActivityKind> enabled{};
  CUpti_TimestampCallbackFunc clock = nullptr;
  CUpti_BuffersCallbackRequestFunc give = nullptr;
  CUpti_BuffersCallbackCompleteFunc take = nullptr;
  std::uint64_t dropped = 0;
  static std::vector<std::pair<CUpti_ExternalCorrelationKind, std::uint64_t>>& open_spans() {
    thread_local std::vector<std::pair<CUpti_ExternalCorrelationKind, std::uint64_t>> open;
    return open;
  }

 private:
  void keep_call(std::uint32_t correlation, CUpti_ActivityKind kind) {
    if (!enabled.contains(kind)) return;
    std::map<CUpti_ExternalCorrelationKind, std::uint64_t> innermost;
    for (const auto& [of, id] : open_spans()) innermost[of] = id;
    for (const auto& [of, id] : innermost) {
      CUpti_ActivityExternalCorrelation e{};
      e.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, e.externalKind = of;
      e.externalId = id, e.correlationId = correlation;
      keep(e);
    }
    CUpti_ActivityAPI r{};
    r.kind = kind, r.start = 3, r.end = 5, r.threadId = 17, r.correlationId = correlation;
    keep(r);
  }
  template <class Record>
  Record timed(CUpti_ActivityKind kind, const Work& w, std::uint32_t correlation) {
    Record r{};
    r.kind = kind, r.correlationId = correlation, r.streamId = w.stream;
    r.start = static_cast<std::uint64_t>(w.begin_ns), r.end = static_cast<std::uint64_t>(w.end_ns);
    return r;
  }
  template <class Record>
  void keep(const Record& r) {
    if (!enabled.contains(r.kind)) return;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&r);
    pending.emplace_back(bytes, bytes + sizeof r);
  }

  std::uint32_t calls = 0, buffers_out = 0;
  std::deque<std::vector<std::uint8_t>> pending;
};

// A library has no other place for what it knows.
Library& it() {
  static Library one;
  return one;
}

}  // namespace
}  // namespace shardmark

using shardmark::it;

extern "C" {
#pragma GCC visibility push(default)

shardmark::CuptiStandin* shardmark_cupti_standin() { return &it(); }

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*) {
  const auto answer = static_cast<CUptiResult>(it().script.subscribe);
  it().subscribed = answer == CUPTI_SUCCESS;
  return answer;
}
CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle) {
  it().subscribed = false;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  it().clock = clock;
  return it().enabled.empty() ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}
CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc give,
                                                    CUpti_BuffersCallbackCompleteFunc take) {
  it().give = give, it().take = take;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  const auto answer = static_cast<CUptiResult>(it().script.enable);
  if (answer == CUPTI_SUCCESS) it().enabled.insert(kind);
  return answer;
}
CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  it().enabled.erase(kind);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityFlushAll(std::uint32_t) {
  it().flush();
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid,
                                                CUpti_Activity** record) {
  std::uint8_t* next = buffer;
  if (*record)
    next = reinterpret_cast<std::uint8_t*>(*record) + shardmark::size_of((*record)->kind);
  if (next == buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return shardmark::size_of((*record)->kind) > 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}
CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t,
                                                       std::size_t* dropped) {
  *dropped = std::exchange(it().dropped, 0);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                            std::uint64_t id) {
  it().open_spans().emplace_back(kind, id);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind,
                                                           std::uint64_t* last) {
  if (it().open_spans().empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (last) *last = it().open_spans().back().second;
  it().open_spans().pop_back();
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                                                        : "CUPTI_ERROR_UNKNOWN";
  return CUPTI_SUCCESS;
}

#pragma GCC visibility pop
}
