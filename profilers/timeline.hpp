#pragma once
// What ran when? One lane a queue, each written by the one thread that executes it and read after
// the drain.
#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include "words.hpp"

namespace shardmark {

inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What a collective carries. elements: of the verb's whole array, in the type that travels.
struct Collective {
  Verb verb = Verb::all_reduce;
  DType dtype = DType::f32;
  std::uint64_t elements = 0;
  std::uint64_t bytes() const { return elements * size_of(dtype); }
  bool operator==(const Collective&) const = default;
};

// Nanoseconds from the first to the one before the last.
struct Stretch {
  std::int64_t begin_ns = 0, end_ns = 0;
  auto operator<=>(const Stretch&) const = default;
};

inline constexpr int no_label = -1;  // of none, or of several

// label: the unit (forward, recompute, backward) or the segment (update, reduce, gather) it belongs
// to. skew_ns: of a collective, the time until the last rank had begun it, known once the begins of
// all ranks are compared; not a transfer. transfer_ns: of a collective, from the last rank's begin
// to the last rank's end, the same on all ranks; -1: not known. after: by lane, how many of its
// intervals had to end first. busy: where in it something ran, sorted and disjoint, as on a GPU,
// which may idle between two kernels; empty: all of it.
struct Interval {
  std::int64_t begin_ns = 0, end_ns = 0;
  Phase phase = Phase::forward;
  int label = 0;
  int step = 0;
  std::int64_t skew_ns = 0, transfer_ns = -1;
  std::array<std::uint64_t, 2> after{};
  std::optional<Collective> collective{};  // none: it computes
  std::vector<Stretch> busy{};
};

class Timeline {
 public:
  void add(int lane, const Interval& i) { lanes_[static_cast<std::size_t>(lane)].push_back(i); }
  const std::vector<Interval>& lane(int l) const { return lanes_[static_cast<std::size_t>(l)]; }
  std::vector<Interval>& lane(int l) { return lanes_[static_cast<std::size_t>(l)]; }

 private:
  std::array<std::vector<Interval>, 2> lanes_;  // 0: compute, 1: communication
};

}  // namespace shardmark
