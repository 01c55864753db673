#include "profilers/nvtx.hpp"

#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>

#include "profilers/trace_events.hpp"

namespace shardmark::nvtx {
namespace {

enum Category : std::uint32_t { no_category, step_category, compute, communication };

// One a process, since NVTX knows processes and threads, not ranks. None where no profiler is
// attached: the first call of NVTX in a process looks for one, and none can come later.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t shared = [] {
    const nvtxDomainHandle_t d = nvtxDomainCreateA("shardmark");
    if (d) {
      nvtxDomainNameCategoryA(d, step_category, "step");
      nvtxDomainNameCategoryA(d, compute, "compute");
      nvtxDomainNameCategoryA(d, communication, "communication");
    }
    return d;
  }();
  return shared;
}

void push_range(nvtxStringHandle_t name, Category category, const Collective* carries = nullptr) {
  nvtxEventAttributes_t a{};
  a.version = NVTX_VERSION;
  a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  a.category = category;
  a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  a.message.registered = name;
  if (carries) {
    a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    a.payload.ullValue = carries->bytes();
  }
  nvtxDomainRangePushEx(domain(), &a);
}

nvtxStringHandle_t registered(const std::string& name) {
  return nvtxDomainRegisterStringA(domain(), name.c_str());
}

}  // namespace

bool built() { return true; }
std::string library() { return "NVTX " + std::to_string(NVTX_VERSION); }

struct Ranges::Open {
  Owner owner;
  int lane;
  bool named = false;    // the thread
  int step = -1;         // of the last span
  bool in_step = false;  // its range is open
  // By phase, verb and label, each registered once: NVTX never forgets a string.
  std::map<std::array<int, 3>, nvtxStringHandle_t> names{};

  void name_thread() {
    const std::string name =
        "rank " + std::to_string(owner.rank) + " " + queue_name(lane, owner.two_queues);
    nvtxNameOsThreadA(static_cast<std::uint32_t>(::syscall(SYS_gettid)), name.c_str());
    named = true;
  }
  nvtxStringHandle_t name_of(const Interval& i) {
    const int verb = i.collective ? static_cast<int>(i.collective->verb) : -1;
    nvtxStringHandle_t& name = names[{static_cast<int>(i.phase), verb, i.label}];
    if (!name) name = registered(span_name(i, owner.units));
    return name;
  }
};

Ranges::Ranges(const Owner& owner, int lane)
    : open_(domain() ? std::make_unique<Open>(Open{.owner = owner, .lane = lane}) : nullptr) {}
Ranges::~Ranges() = default;

void Ranges::push(const Interval& i) {
  Open& o = *open_;
  if (!o.named) o.name_thread();
  if (o.lane == 0 && i.step != o.step) {
    pop_step();
    o.step = i.step;
    if (i.step >= 0) {
      push_range(registered(step_name(i.step)), step_category);
      o.in_step = true;
    }
  }
  push_range(o.name_of(i), is_communication(i.phase) ? communication : compute,
             i.collective ? &*i.collective : nullptr);
}

void Ranges::pop() { nvtxDomainRangePop(domain()); }

void Ranges::pop_step() {
  if (open_->in_step) pop();
  open_->in_step = false;
}

}  // namespace shardmark::nvtx
