#include "impl/report_bytes.hpp"

#include <cstring>
#include <type_traits>

namespace shardmark {
namespace {

template <class T>
concept Plain = std::is_trivially_copyable_v<T>;

// Does not compile where an interval has a field that is not named here.
template <class I, class F>
void each_field_of(I& interval, F& field) {
  auto& [begin, end, phase, label, step, skew, transfer, after, collective, busy] = interval;
  const auto all = [&](auto&... each) { (field(each), ...); };
  all(begin, end, phase, label, step, skew, transfer, after, collective, busy);
}

template <class Use, class F>
void each_field_of_gpu(Use& use, F& field) {
  field(use.gpu);
  field(use.id);
  field(use.reserved_bytes);
  field(use.used_before_bytes);
  field(use.communicator_bytes);
  field(use.driver_bytes);
  field(use.products_by_tiles);
  auto& s = use.during;
  field(s.samples);
  field(s.min_sm_mhz);
  field(s.median_sm_mhz);
  field(s.most_sm_mhz);
  field(s.min_memory_mhz);
  field(s.max_power_mw);
  field(s.max_temperature_c);
  field(s.reasons);
  field(s.why_not);
}

template <class Profile, class F>
void each_field_of_profile(Profile& p, F& field) {
  field(p.why_not);
  for (auto* sum : {&p.sums.activities, &p.sums.nccl, &p.sums.calls, &p.sums.unattributed})
    field(*sum);
  field(p.sums.idle_spans);
  field(p.sums.untimed);
  field(p.sums.dropped);
  field(p.sums.unreadable);
  field(p.by_events);
}

// One direction each; each_field() below names the fields once for both.
class Writer {
 public:
  template <Plain T>
  void operator()(const T& v) {
    bytes.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  void operator()(const Interval& i) { each_field_of(i, *this); }
  void operator()(const Timeline& t) {
    for (const int lane : {0, 1}) (*this)(t.lane(lane));
  }
  void operator()(const std::string& s) {
    (*this)(s.size());
    bytes += s;
  }
  template <class T>
  void operator()(const std::optional<T>& v) {
    (*this)(v.has_value());
    if (v) (*this)(*v);
  }
  template <class T>
  void operator()(const std::vector<T>& v) {
    (*this)(v.size());
    for (const T& x : v) (*this)(x);
  }
  template <class K, class V>
  void operator()(const std::map<K, V>& m) {
    (*this)(m.size());
    for (const auto& [k, v] : m) {
      (*this)(k.first);
      (*this)(k.second);
      (*this)(v);
    }
  }
  std::string bytes;
};

class Reader {
 public:
  explicit Reader(const std::string& b) : bytes_(b) {}
  template <Plain T>
  void operator()(T& v) {
    require(bytes_.size() - at_ >= sizeof v, "a rank's report came in pieces");
    std::memcpy(&v, bytes_.data() + at_, sizeof v);
    at_ += sizeof v;
  }
  void operator()(Interval& i) { each_field_of(i, *this); }
  void operator()(Timeline& t) {
    for (const int lane : {0, 1}) (*this)(t.lane(lane));
  }
  void operator()(std::string& s) {
    const std::size_t n = count();
    s = bytes_.substr(at_, n);
    at_ += n;
  }
  template <class T>
  void operator()(std::optional<T>& v) {
    bool there = false;
    (*this)(there);
    if (there) (*this)(v.emplace());
  }
  template <class T>
  void operator()(std::vector<T>& v) {
    v.resize(count());
    for (T& x : v) (*this)(x);
  }
  template <class K, class V>
  void operator()(std::map<K, V>& m) {
    for (std::size_t left = count(); left > 0; --left) {
      K k;
      (*this)(k.first);
      (*this)(k.second);
      (*this)(m[k]);
    }
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::size_t count() {
    std::size_t n = 0;
    (*this)(n);
    require(n <= bytes_.size() - at_, "a rank's report came in pieces");
    return n;
  }
  const std::string& bytes_;
  std::size_t at_ = 0;
};

template <class Report, class F>
void each_field(Report& r, F& field) {
  field(r.steps);
  field(r.loss);
  field(r.norm_before);
  field(r.norm_after);
  field(r.loss_scale);
  field(r.skipped_steps);
  field(r.loop_ns);
  field(r.held);
  field(r.held_by_step);
  field(r.peak_bytes);
  field(r.traffic_by_step);
  field(r.allocations_by_step);
  field(r.spans_by_step);
  field(r.timeline);
  field(r.traced.begin_ns);
  field(r.traced.end_ns);
  field(r.traced.timeline);
  field(r.traced.before);
  field(r.traced.collectives_before);
  field(r.traced.memory);
  field(r.left_over);
  field(r.parameter_hash);
  field(r.moved_bytes);
  field(r.products_ns);
  field(r.moved_witness);
  field(r.parameters);
  field(r.masters);
  field(r.ideal);
  field(r.counted);
  field(r.interface_mtu);
  field(r.host);
  field(r.resident_before_bytes);
  field(r.resident_peak_bytes);
  each_field_of_gpu(r.gpu, field);
  each_field_of_profile(r.profile, field);
}

}  // namespace

std::string packed(const RankReport& r) {
  Writer w;
  each_field(r, w);
  return std::move(w.bytes);
}

RankReport unpacked(const std::string& bytes) {
  RankReport r;
  Reader in(bytes);
  each_field(r, in);
  require(in.at_end(), "a rank's report is longer than a report");
  return r;
}

}  // namespace shardmark
