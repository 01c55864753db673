#include "device.hpp"

#include <fmt/format.h>

namespace shardmark {

double DryRates::ns(const Op& op) const {
  if (const auto* transfer = std::get_if<Transfer>(&op))
    return transfer->volume / wire_bytes_per_ns;
  return std::max(flops(op) / flops_per_ns, access_of(op).bytes() / bytes_per_ns);
}

DryDevice::DryDevice(bool overlap, DryOptions options)
    : overlap_(overlap), options_(std::move(options)), queues_{{*this, 0}, {*this, 1}} {}

void DryDevice::violate(std::string sentence) {
  if (violations_.size() < 100) violations_.push_back(std::move(sentence));
}

void DryDevice::drain() {
  for (DryQueue& q : queues_) q.catch_up();
}

void DryDevice::DryQueue::catch_up() {
  for (int i : {0, 1}) {
    if (device_.done_[i].empty()) continue;
    known_.ticket[i] = device_.done_[i].size();
    time_ = std::max(time_, device_.done_[i].back().time);
  }
}

void DryDevice::DryQueue::do_begin(Interval of, Event after) {
  if (open_) device_.violate("a span was opened inside a span of the same queue");
  wait(after);
  open_ = true;
  current_ = of;
  current_.begin_ns = static_cast<std::int64_t>(time_);
  current_.step = device_.step_;
}

void DryDevice::DryQueue::wait(Event after) {
  for (int lane : {0, 1}) {
    if (after.ticket(lane) == 0) continue;
    const Done& done = device_.done_[lane].at(after.ticket(lane) - 1);
    time_ = std::max(time_, done.time);
    for (int i : {0, 1}) known_.ticket[i] = std::max(known_.ticket[i], done.known.ticket[i]);
  }
}

Event DryDevice::DryQueue::do_end() {
  open_ = false;
  current_.end_ns = static_cast<std::int64_t>(time_);
  device_.timeline_.add(lane(), current_);
  std::vector<Done>& done = device_.done_[lane()];
  known_.ticket[lane()] = done.size() + 1;
  done.push_back({time_, known_});
  return event(done.size());
}

void DryDevice::DryQueue::run(Op op) {
  const std::string_view what = name(op);
  if (!open_) device_.violate(fmt::format("{} was enqueued outside of a span", what));
  const Access access = access_of(op);
  for (const ConstView& v : access.reads) touch(v, false, what);
  for (const View& v : access.writes) touch(v, true, what);
  time_ += slowed(device_.options_.clock.ns(op));
}

// What the other queue has been given is known, since a collective is enqueued before the compute
// that hides it.
double DryDevice::DryQueue::slowed(double ns) const {
  const double factor = device_.options_.clock.contention;
  if (lane() != 0 || factor == 1) return ns;
  const double beside = std::max(0.0, device_.queues_[1].time() - time_);
  return ns * factor <= beside ? ns * factor : beside + ns - beside / factor;
}

void DryDevice::DryQueue::touch(ConstView v, bool write, std::string_view what) {
  if (!v || !device_.options_.check_order) return;
  const std::uintptr_t begin = v.address(), end = begin + v.bytes();
  const char* const verb = write ? "writes" : "reads";
  if (!device_.arena_.holds(begin, end))
    device_.violate(fmt::format("{} {} memory that was given back", what, verb));
  std::erase_if(device_.past_, [&](const Past& p) {
    if (p.begin >= end || begin >= p.end) return false;
    const bool ordered = p.lane == lane() || p.ticket <= known_.ticket[p.lane];
    if ((write || p.write) && !ordered)
      device_.violate(fmt::format("{} {} what {} {}, and is not ordered after it", what, verb,
                                  p.what, p.write ? "writes" : "reads"));
    // What this access replaces as the last one of its bytes need not be remembered.
    const bool covered = p.begin >= begin && p.end <= end;
    return covered && (write ? ordered : !p.write && p.lane == lane());
  });
  device_.past_.push_back({begin, end, lane(), device_.done_[lane()].size() + 1, write, what});
}

bool DryDevice::DryArena::holds(std::uintptr_t begin, std::uintptr_t end) const {
  auto it = live_.upper_bound(begin);
  if (it == live_.begin()) return false;
  --it;
  return begin >= it->first && end <= it->second;
}

View DryDevice::DryArena::do_alloc(std::size_t size, DType dtype, Event& free) {
  const std::size_t bytes = std::max<std::size_t>(size * size_of(dtype), 1);
  std::uintptr_t address = next_;
  if (const auto again = free_.take(bytes)) {
    address = again->address;
    free = again->after;
  } else {
    next_ += (bytes + 255) / 256 * 256;
  }
  live_[address] = address + bytes;
  return {address, size, dtype, Space::nowhere};
}

void DryDevice::DryArena::do_free(View v, Event after) {
  live_.erase(v.address());
  free_.put(std::max<std::size_t>(v.bytes(), 1), {v.address(), after});
}

}  // namespace shardmark
