#pragma once
// How is a buffer of CUPTI's records read? Its structs grow at the end from one version to the
// next: all that is read stands where it stood in 12.4, and libcupti knows how long each record is.
#include <cupti.h>

#include "profilers/activity.hpp"

namespace shardmark::cupti {

using NextRecord = decltype(&cuptiActivityGetNextRecord);

// The kind of external correlation that spans are.
inline constexpr CUpti_ExternalCorrelationKind of_spans = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

void read_records(std::uint8_t* buffer, std::size_t valid_bytes, NextRecord, Activities& into);

}  // namespace shardmark::cupti
