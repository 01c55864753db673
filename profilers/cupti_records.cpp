#include "profilers/cupti_records.hpp"

#include <cstddef>

namespace shardmark::cupti {
namespace {

static_assert(CUPTI_API_VERSION >= 22, "CUPTI of a CUDA Toolkit before 12.4");
#if CUPTI_API_VERSION >= 130000
#define SHARDMARK_SAME_PLACE(older, newer, field)                   \
  static_assert(offsetof(older, field) == offsetof(newer, field) && \
                sizeof(older::field) == sizeof(newer::field))
SHARDMARK_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, start);
SHARDMARK_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, end);
SHARDMARK_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, streamId);
SHARDMARK_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, correlationId);
SHARDMARK_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, name);
SHARDMARK_SAME_PLACE(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, copyKind);
SHARDMARK_SAME_PLACE(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, bytes);
SHARDMARK_SAME_PLACE(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, start);
SHARDMARK_SAME_PLACE(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, end);
SHARDMARK_SAME_PLACE(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, streamId);
SHARDMARK_SAME_PLACE(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, correlationId);
#undef SHARDMARK_SAME_PLACE
#endif

std::int64_t ns(std::uint64_t time) { return static_cast<std::int64_t>(time); }

Activities::Direction direction_of(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return Activities::Direction::to_device;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return Activities::Direction::to_host;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return Activities::Direction::on_device;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return Activities::Direction::between_devices;
    default:
      return Activities::Direction::other;
  }
}

template <class Record>
const Record& as(const CUpti_Activity* r) {
  return *reinterpret_cast<const Record*>(r);
}

template <class Record>
Activities::Copy copy(const CUpti_Activity* record) {
  const auto& c = as<Record>(record);
  return {ns(c.start), ns(c.end), c.correlationId, c.streamId, c.bytes, direction_of(c.copyKind)};
}

void read(const CUpti_Activity* record, Activities& into) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& k = as<CUpti_ActivityKernel9>(record);
      into.kernels.push_back(
          {ns(k.start), ns(k.end), k.correlationId, k.streamId, k.name ? k.name : ""});
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      into.copies.push_back(copy<CUpti_ActivityMemcpy5>(record));
      return;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      into.copies.push_back(copy<CUpti_ActivityMemcpyPtoP4>(record));
      return;
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& s = as<CUpti_ActivityMemset4>(record);
      into.sets.push_back({ns(s.start), ns(s.end), s.correlationId, s.streamId, s.bytes});
      return;
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME: {
      const auto& c = as<CUpti_ActivityAPI>(record);
      into.calls.push_back({ns(c.start), ns(c.end), c.correlationId, c.threadId});
      return;
    }
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& e = as<CUpti_ActivityExternalCorrelation>(record);
      if (e.externalKind == of_spans) into.externals.push_back({e.externalId, e.correlationId});
      return;
    }
    default:
      return;  // calls of the driver's are asked for so that spans correlate with them
  }
}

}  // namespace

void read_records(std::uint8_t* buffer, std::size_t valid_bytes, NextRecord next,
                  Activities& into) {
  CUpti_Activity* record = nullptr;
  CUptiResult result;
  while ((result = next(buffer, valid_bytes, &record)) == CUPTI_SUCCESS) read(record, into);
  if (result != CUPTI_ERROR_MAX_LIMIT_REACHED) ++into.unreadable;
}

}  // namespace shardmark::cupti
