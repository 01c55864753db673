#include "profilers/nvtx_recorder.hpp"

#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <utility>

// NVTX hands out whatever handles its tool makes: here addresses of strings that never move.
namespace shardmark {
namespace {

struct Heard {
  std::mutex mutex;
  std::deque<std::string> strings;
  std::map<std::uint32_t, std::string> categories;
  NvtxCalls calls;
};

// The calls that NVTX makes carry nothing of a tool's own.
Heard& heard() {
  static Heard all;
  return all;
}

std::uint32_t this_thread() { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

template <class Handle>
Handle kept(const char* text) {
  return reinterpret_cast<Handle>(&heard().strings.emplace_back(text));
}
template <class Handle>
std::string text_of(Handle h) {
  return h ? *reinterpret_cast<const std::string*>(h) : "";
}

nvtxDomainHandle_t NVTX_API create(const char* name) {
  const std::lock_guard lock(heard().mutex);
  return kept<nvtxDomainHandle_t>(name);
}

nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t, const char* text) {
  const std::lock_guard lock(heard().mutex);
  ++heard().calls.registrations[text];
  return kept<nvtxStringHandle_t>(text);
}

void NVTX_API name_category(nvtxDomainHandle_t, std::uint32_t category, const char* name) {
  const std::lock_guard lock(heard().mutex);
  heard().categories[category] = name;
}

void NVTX_API name_thread(std::uint32_t thread, const char* name) {
  const std::lock_guard lock(heard().mutex);
  heard().calls.threads[thread] = name;
}

int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) {
  const std::lock_guard lock(heard().mutex);
  NvtxCalls::Call c{.push = true, .thread = this_thread(), .domain = text_of(domain)};
  c.registered = a->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
  if (c.registered) c.message = text_of(a->message.registered);
  if (a->category != 0) c.category = heard().categories[a->category];
  c.has_payload = a->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  if (c.has_payload) c.payload = a->payload.ullValue;
  heard().calls.calls.push_back(c);
  return 0;
}

int NVTX_API pop(nvtxDomainHandle_t domain) {
  const std::lock_guard lock(heard().mutex);
  heard().calls.calls.push_back(
      {.push = false, .thread = this_thread(), .domain = text_of(domain)});
  return 0;
}

template <class Function>
void put(NvtxFunctionTable table, unsigned place, Function f) {
  *table[place] = reinterpret_cast<NvtxFunctionPointer>(f);
}

}  // namespace
}  // namespace shardmark

extern "C" __attribute__((visibility("default"))) void shardmark_take_nvtx_calls(
    shardmark::NvtxCalls* out) {
  const std::lock_guard lock(shardmark::heard().mutex);
  *out = std::exchange(shardmark::heard().calls, {});
}

// What NVTX looks for in the library that NVTX_INJECTION64_PATH names.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t tables) {
  using namespace shardmark;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(tables(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable core = nullptr, core2 = nullptr;
  unsigned size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &size) ||
      !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2, &size))
    return 0;
  put(core, NVTX_CBID_CORE_NameOsThreadA, name_thread);
  put(core2, NVTX_CBID_CORE2_DomainCreateA, create);
  put(core2, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  put(core2, NVTX_CBID_CORE2_DomainNameCategoryA, name_category);
  put(core2, NVTX_CBID_CORE2_DomainRangePushEx, push);
  put(core2, NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}
