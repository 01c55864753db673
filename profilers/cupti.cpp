#include "profilers/cupti.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <mutex>

#include "profilers/cupti_records.hpp"

namespace shardmark::cupti {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{8} << 20, alignment = 64;

// NCCL and cuBLASLt enqueue through the driver; copies between GPUs are a kind of their own.
constexpr std::array kinds = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                              CUPTI_ACTIVITY_KIND_RUNTIME,
                              CUPTI_ACTIVITY_KIND_DRIVER,
                              CUPTI_ACTIVITY_KIND_MEMCPY,
                              CUPTI_ACTIVITY_KIND_MEMCPY2,
                              CUPTI_ACTIVITY_KIND_MEMSET,
                              CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};

std::string soname() {
  const int major = CUPTI_API_VERSION >= 130000 ? CUPTI_API_VERSION / 10000 : 12;
  return "libcupti.so." + std::to_string(major);
}

struct Functions {
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiActivityRegisterTimestampCallback) set_clock = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) set_buffers = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiActivityGetNextRecord) next = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) push = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) pop = nullptr;
  decltype(&cuptiGetResultString) text = nullptr;
};

// Finds them all, or says which one is missing.
class Loader {
 public:
  explicit Loader(const std::string& file) {
    // The toolkit keeps it in a folder where the loader does not look.
    std::vector<std::string> files = {file};
    if (file.empty()) files = {soname(), SHARDMARK_CUPTI_LIBRARY};
    for (const std::string& f : files)
      if (!library_ && !f.empty()) {
        library_ = ::dlopen(f.c_str(), RTLD_NOW | RTLD_LOCAL);
        const char* error = library_ ? nullptr : ::dlerror();
        if (error) missing_ = (missing_.empty() ? "" : missing_ + "; ") + error;
      }
    if (library_) missing_.clear();
  }
  template <class Function>
  void find(const char* name, Function& f) {
    if (!library_) return;
    f = reinterpret_cast<Function>(::dlsym(library_, name));
    if (!f && missing_.empty()) missing_ = std::string("it has no ") + name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_ = nullptr;  // stays: CUPTI has threads of its own
  std::string missing_;
};

std::string load(const std::string& file, Functions& f) {
  Loader l(file);
  l.find("cuptiSubscribe", f.subscribe);
  l.find("cuptiUnsubscribe", f.unsubscribe);
  l.find("cuptiActivityRegisterTimestampCallback", f.set_clock);
  l.find("cuptiActivityRegisterCallbacks", f.set_buffers);
  l.find("cuptiActivityEnable", f.enable);
  l.find("cuptiActivityDisable", f.disable);
  l.find("cuptiActivityFlushAll", f.flush);
  l.find("cuptiActivityGetNextRecord", f.next);
  l.find("cuptiActivityGetNumDroppedRecords", f.dropped);
  l.find("cuptiActivityPushExternalCorrelationId", f.push);
  l.find("cuptiActivityPopExternalCorrelationId", f.pop);
  l.find("cuptiGetResultString", f.text);
  return l.missing();
}

// Buffers come back to a function that is told nothing of who asked, on any thread, also late: who
// records is known to the process.
class Sink {
 public:
  static Sink& of_process() {
    static Sink one;
    return one;
  }
  // Whether nobody else is served.
  bool serve(Activities& records, const NextRecord& next) {
    const std::lock_guard lock(mutex_);
    if (records_) return false;
    records_ = &records, next_ = next, buffers_ = 0;
    return true;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    records_ = nullptr;
  }
  void take(std::uint8_t* buffer, std::size_t valid_bytes) {
    const std::lock_guard lock(mutex_);
    if (!records_ || !buffer || valid_bytes == 0) return;
    read_records(buffer, valid_bytes, next_, *records_);
    ++buffers_;
  }
  // A copy, where there is more than in the last one.
  void copy(std::size_t dropped, std::shared_ptr<const Activities>& last, std::uint64_t& buffers) {
    const std::lock_guard lock(mutex_);
    records_->dropped += dropped;
    if (last && dropped == 0 && buffers == buffers_) return;
    last = std::make_shared<Activities>(*records_);
    buffers = buffers_;
  }

 private:
  std::mutex mutex_;
  Activities* records_ = nullptr;  // none: nobody is served
  NextRecord next_ = nullptr;
  std::uint64_t buffers_ = 0;  // that came back
};

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(alignment, buffer_bytes));
  *bytes = *buffer ? buffer_bytes : 0;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t valid_bytes) {
  Sink::of_process().take(buffer, valid_bytes);
  std::free(buffer);
}

std::uint64_t CUPTIAPI clock_ns() { return static_cast<std::uint64_t>(now_ns()); }

void CUPTIAPI no_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

}  // namespace

bool built() { return true; }
std::string library() { return "CUPTI API " + std::to_string(CUPTI_API_VERSION); }

struct Recorder::State {
  Functions call{};
  CUpti_SubscriberHandle subscriber = nullptr;
  Activities records{};  // the sink's
  std::mutex asking{};
  std::shared_ptr<const Activities> answer{};
  std::uint64_t answered_buffers = 0;

  // Empty where it records from here on.
  std::string start(const std::string& library) {
    const std::string missing = load(library, call);
    if (!missing.empty())
      return "libcupti, which the CUDA Toolkit has, could not be loaded: " + missing;
    if (!Sink::of_process().serve(records, call.next)) return "this process has a recorder already";
    std::string wrong = subscribe();
    if (wrong.empty()) wrong = enable();
    if (!wrong.empty()) Sink::of_process().leave();
    return wrong;
  }
  std::string subscribe() {
    const CUptiResult result = call.subscribe(&subscriber, no_callback, nullptr);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
      return "another profiler or debugger (Nsight Systems, Nsight Compute, cuda-gdb) watches this "
             "process, and CUPTI serves one at a time";
    return result == CUPTI_SUCCESS ? "" : said("cuptiSubscribe", result);
  }
  std::string enable() {
    std::string wrong;
    const auto check = [&](const char* function, CUptiResult result) {
      if (result != CUPTI_SUCCESS && wrong.empty()) wrong = said(function, result);
    };
    check("cuptiActivityRegisterTimestampCallback", call.set_clock(clock_ns));
    check("cuptiActivityRegisterCallbacks", call.set_buffers(give_buffer, take_buffer));
    for (const CUpti_ActivityKind kind : kinds)
      if (wrong.empty()) check("cuptiActivityEnable", call.enable(kind));
    if (!wrong.empty()) stop();
    return wrong;
  }
  void stop() {
    for (const CUpti_ActivityKind kind : kinds) call.disable(kind);
    call.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    call.unsubscribe(subscriber);
  }
  std::string said(const char* function, CUptiResult result) const {
    const char* text = nullptr;
    call.text(result, &text);
    return std::string(function) + " answers " + (text ? text : "with an unknown error");
  }
};

Recorder::Recorder(const std::string& library) {
  auto state = std::make_unique<State>();
  const std::string wrong = state->start(library);
  if (wrong.empty())
    state_ = std::move(state);
  else
    why_not_ = "CUPTI records nothing: " + wrong + ".";
}

Recorder::~Recorder() {
  if (!state_) return;
  state_->stop();
  Sink::of_process().leave();
}

std::shared_ptr<const Activities> Recorder::activities() {
  if (!state_) return std::make_shared<Activities>();
  State& s = *state_;
  const std::lock_guard one(s.asking);
  s.call.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  std::size_t dropped = 0;
  s.call.dropped(nullptr, 0, &dropped);
  Sink::of_process().copy(dropped, s.answer, s.answered_buffers);
  return s.answer;
}

void Recorder::push(std::uint64_t span) { state_->call.push(of_spans, span); }

void Recorder::pop() {
  std::uint64_t last = 0;
  state_->call.pop(of_spans, &last);
}

}  // namespace shardmark::cupti
