#include "activity.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "stretches.hpp"

namespace shardmark {
namespace {

constexpr int ticket_bits = 40, lane_bits = 1;

void add(Attributed::Sum& to, std::int64_t ns) { ++to.count, to.ns += ns; }

// Of a call; a call of the runtime's that makes one of the driver's shares its number.
using SpanOfCall = std::unordered_map<std::uint32_t, SpanNumber>;

class Sorter {
 public:
  Sorter(const Activities& a, int rank, const Timeline& spans) : rank_(rank) {
    out_.timeline = spans;
    out_.dropped = a.dropped, out_.unreadable = a.unreadable;
    for (const int lane : {0, 1}) busy_[lane].resize(spans.lane(lane).size());
    for (const Activities::External& e : a.externals)
      span_of_[e.correlation] = SpanNumber::unpacked(e.span);
    for (const Activities::Kernel& k : a.kernels) {
      if (activity(k) && is_nccl(k.name)) add(out_.nccl, k.end_ns - k.begin_ns);
    }
    for (const Activities::Copy& c : a.copies) activity(c);
    for (const Activities::Set& s : a.sets) activity(s);
    for (const Activities::RuntimeCall& c : a.calls) {
      const auto span = span_of_.find(c.correlation);
      if (span != span_of_.end() && busy_of(span->second)) add(out_.calls, c.end_ns - c.begin_ns);
    }
  }

  Attributed sorted() {
    count_of_no_span();
    for (const int lane : {0, 1}) place(lane);
    return std::move(out_);
  }

 private:
  // Of a span of this rank; else none.
  std::vector<Stretch>* busy_of(const SpanNumber& s) {
    if (s.rank != rank_ || s.ticket == 0 || s.ticket > busy_[s.lane].size()) return nullptr;
    return &busy_[s.lane][s.ticket - 1];
  }

  // Whether it is of this rank.
  template <class Activity>
  bool activity(const Activity& a) {
    if (a.begin_ns == 0 && a.end_ns == 0) {
      ++out_.untimed;
      return false;
    }
    const std::int64_t ns = a.end_ns - a.begin_ns;
    const auto span = span_of_.find(a.correlation);
    const bool known = span != span_of_.end();
    std::vector<Stretch>* busy = known ? busy_of(span->second) : nullptr;
    if (!busy) {
      if (!known || span->second.rank == rank_) of_no_span_.push_back({a.begin_ns, a.end_ns});
      return false;
    }
    busy->push_back({a.begin_ns, a.end_ns});
    add(out_.activities, ns);
    return true;
  }

  // From the first on that a step enqueued: before it, NCCL and other libraries set up what is
  // theirs.
  void count_of_no_span() {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max();
    for (const int lane : {0, 1}) {
      for (std::size_t i = 0; i < busy_[lane].size(); ++i) {
        if (out_.timeline.lane(lane)[i].step < 0) continue;
        for (const Stretch& s : busy_[lane][i]) begin = std::min(begin, s.begin_ns);
      }
    }
    for (const Stretch& s : of_no_span_)
      if (s.end_ns > begin) add(out_.unattributed, s.end_ns - s.begin_ns);
  }

  // From the last span to the first, so that an empty one knows what follows.
  void place(int lane) {
    std::vector<Interval>& spans = out_.timeline.lane(lane);
    std::int64_t last = 0;
    for (std::vector<Stretch>& b : busy_[lane]) {
      b = united(std::move(b));
      if (!b.empty()) last = std::max(last, b.back().end_ns);
    }
    std::int64_t next = last;
    for (std::size_t i = spans.size(); i-- > 0;) {
      std::vector<Stretch>& busy = busy_[lane][i];
      if (busy.empty()) ++out_.idle_spans;
      spans[i].begin_ns = busy.empty() ? next : busy.front().begin_ns;
      spans[i].end_ns = busy.empty() ? next : busy.back().end_ns;
      next = spans[i].begin_ns;
      spans[i].busy = busy.size() > 1 ? std::move(busy) : std::vector<Stretch>{};
    }
  }

  int rank_;
  Attributed out_;
  SpanOfCall span_of_;
  std::vector<Stretch> of_no_span_;
  std::array<std::vector<std::vector<Stretch>>, 2> busy_;  // by lane and place in it
};

std::string some(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

std::uint64_t SpanNumber::packed() const {
  return static_cast<std::uint64_t>(rank) << (ticket_bits + lane_bits) |
         static_cast<std::uint64_t>(lane) << ticket_bits | ticket;
}

SpanNumber SpanNumber::unpacked(std::uint64_t p) {
  return {static_cast<int>(p >> (ticket_bits + lane_bits)), static_cast<int>(p >> ticket_bits & 1),
          p & ((std::uint64_t{1} << ticket_bits) - 1)};
}

// ncclDevKernel_AllReduce_Sum_f32_RING_LL(...), mangled; before NCCL 2.19 ncclKernel_....
bool is_nccl(const std::string& kernel) {
  return kernel.find("ncclDevKernel") != kernel.npos || kernel.find("ncclKernel") != kernel.npos;
}

Attributed attribute(const Activities& a, int rank, const Timeline& spans) {
  return Sorter(a, rank, spans).sorted();
}

std::vector<std::string> what_is_missing(const Attributed& a) {
  std::vector<std::string> out;
  const char *of = "Of GPU activity ", *so = ": busy times are too short.";
  if (a.dropped > 0) out.push_back(of + some(a.dropped, "record") + " found no room" + so);
  if (a.unreadable > 0)
    out.push_back(of + some(a.unreadable, "buffer") + " could not be read to the end" + so);
  if (a.untimed > 0) out.push_back(of + some(a.untimed, "record") + " came without times" + so);
  if (a.unattributed.count > 0)
    out.push_back(of + some(a.unattributed.count, "record") + ", of " +
                  std::to_string(a.unattributed.ns) +
                  " ns together, came from no span: no phase has this time.");
  return out;
}

}  // namespace shardmark
