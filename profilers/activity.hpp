#pragma once
// What did a GPU do, and for which span? Plain records, whoever made them, and where they belong:
// to the span in which the host enqueued them, known by correlation and never by time.
#include <string>
#include <vector>

#include "timeline.hpp"

namespace shardmark {

// Which span of which rank. Ranks that are threads have one recorder, so a number says all three.
struct SpanNumber {
  int rank = 0, lane = 0;
  std::uint64_t ticket = 0;  // its place in its lane, from 1 on
  std::uint64_t packed() const;
  static SpanNumber unpacked(std::uint64_t);
  bool operator==(const SpanNumber&) const = default;
};

// Of one process. Times are of now_ns()'s clock. A correlation is the number of the call that
// enqueued something; only calls made while a span was open have an External.
struct Activities {
  struct Kernel {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint32_t correlation = 0, stream = 0;
    std::string name{};  // as the linker knows it
  };
  enum class Direction : std::uint8_t { to_device, to_host, on_device, between_devices, other };
  struct Copy {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint32_t correlation = 0, stream = 0;
    std::uint64_t bytes = 0;
    Direction direction = Direction::other;
  };
  struct Set {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint32_t correlation = 0, stream = 0;
    std::uint64_t bytes = 0;
  };
  struct RuntimeCall {  // on the host
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint32_t correlation = 0, thread = 0;
  };
  struct External {
    std::uint64_t span = 0;  // packed
    std::uint32_t correlation = 0;
  };
  std::vector<Kernel> kernels;
  std::vector<Copy> copies;
  std::vector<Set> sets;
  std::vector<RuntimeCall> calls;
  std::vector<External> externals;
  std::uint64_t dropped = 0;     // records for which the recorder had no room
  std::uint64_t unreadable = 0;  // buffers that could not be read to their end
};

// A kernel of NCCL's.
bool is_nccl(const std::string& kernel);

// What one rank's spans did on its GPU.
struct Attributed {
  struct Sum {
    std::uint64_t count = 0;
    std::int64_t ns = 0;
    bool operator==(const Sum&) const = default;
  };
  // The rank's spans: each from its first kernel, copy or set to its last, and busy in them. One
  // that has none of them is empty, and stands where the next of its lane begins.
  Timeline timeline;
  Sum activities;                // kernels, copies and sets of these spans
  Sum nccl;                      // of these, NCCL's kernels
  Sum calls;                     // calls of the CUDA runtime inside of these spans, on the host
  std::uint64_t idle_spans = 0;  // that did nothing on the GPU
  // Of the whole process:
  Sum unattributed;           // kernels, copies and sets, from step 0 on, that no span enqueued
  std::uint64_t untimed = 0;  // those that have no times
  std::uint64_t dropped = 0, unreadable = 0;
};

// spans: of this rank, in the order of their tickets; their times do not count.
Attributed attribute(const Activities&, int rank, const Timeline& spans);

// One sentence on each thing that is missing from these times; none where all is there.
std::vector<std::string> what_is_missing(const Attributed&);

}  // namespace shardmark
