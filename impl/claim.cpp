#include "impl/claim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

namespace shardmark {

void Claim::hold(Tag tag, DType t, double elements, const std::string& term) {
  if (!term.empty()) formula[tag] += term;
  if (elements > 0) bytes[{tag, t}] += elements * static_cast<double>(size_of(t));
}

void Claim::hold(Tag tag, DType t, Form form, Which which) {
  hold(tag, t, layout_.elements(form, which));
  formula[tag] =
      fmt::format("{}{}{}", size_of(t), which == Which::all || layout_.all_trainable() ? "P" : "T",
                  form == Form::cut ? "/N" : "");
}

void Claim::adam(const Precision& p, Form form) {
  if (p.master) hold(Tag::master, *p.master, form, Which::trainable);
  hold(Tag::first_moment, DType::f32, form, Which::trainable);
  hold(Tag::second_moment, DType::f32, form, Which::trainable);
}

void Claim::call(Verb verb, DType t, double elements, double times) {
  Calls& c = calls[{verb, t}];
  const double n = layout_.ranks(), size = static_cast<double>(size_of(t));
  c.calls += times;
  c.payload += times * elements * size;
  // A scalar is not cut evenly; every segment is.
  c.volume += times * (elements < n && !layout_.is_textbook()
                           ? static_cast<double>(volume_bytes(
                                 verb, static_cast<std::size_t>(elements), t, layout_.ranks(),
                                 layout_.rank(), layout_.collectives()))
                           : elements * size * (n - 1) / n * (verb == Verb::all_reduce ? 2 : 1));
}

void Claim::each(const Segments& segments, Verb verb, DType t, double times) {
  layout_.each_alike(segments, [&](const Segment& s, int count) {
    call(verb, t, layout_.elements(s, Form::whole), times * count);
  });
}

void Claim::staging(const Precision& p) {
  if (p.gradient == p.wire) return;
  double largest = 0;
  layout_.each_alike(layout_.trainable(), [&](const Segment& s, int) {
    largest = std::max(largest, layout_.elements(s, Form::whole));
  });
  hold(Tag::staging, p.wire, largest);
}

// While visit v runs, the units of visits v .. v + prefetch are whole; a gather is an entry into
// that set.
void Claim::gathered(const Options& o) {
  const auto segments = [&](int from, int to, int without) {
    std::set<int> in;
    for (int v = from; v <= std::min(to, layout_.visits() - 1); ++v)
      if (layout_.unit_of(v) != without)
        for (int s : layout_.read_by(v))
          if (!layout_[s].resident) in.insert(s);
    return in;
  };
  // The paper counts every parameter once in each direction (section 7.1), whatever is tied or
  // stays.
  if (layout_.is_textbook())
    call(Verb::all_gather, o.precision.parameter, layout_.elements(Form::whole, Which::all),
         2.0 * o.accumulate);
  double peak = 0;
  for (int v = 0; v < layout_.visits(); ++v) {
    const int left = v == 0 ? -1 : layout_.unit_of(v - 1);
    const int stay = o.keep_last && v == layout_.units() ? std::max(1, o.prefetch) : o.prefetch;
    const std::set<int> held =
        v == 0 ? std::set<int>{} : segments(v, v - 1 + stay, o.keep_last ? -1 : left);
    double alive = 0;
    for (int s : segments(v, v + o.prefetch, -1)) {
      alive += layout_.elements(s, Form::whole);
      if (!held.contains(s) && !layout_.is_textbook())
        call(Verb::all_gather, o.precision.parameter, layout_.elements(s, Form::whole),
             o.accumulate);
    }
    peak = std::max(peak, alive);
  }
  hold(Tag::gathered, o.precision.parameter, peak);
}

void Claim::resident(const Precision& p) {
  if (layout_.kept_whole() == 0) return;
  double rest = 0;
  Segments all;
  all.add({0, layout_.segments() - 1});
  layout_.each_alike(all, [&](const Segment& s, int count) {
    if (!s.resident) return;
    rest += (layout_.elements(s, Form::whole) - layout_.elements(s, Form::cut)) * count;
    // The textbook's gathers count every parameter already.
    if (s.trainable && !layout_.is_textbook())
      call(Verb::all_gather, p.parameter, layout_.elements(s, Form::whole), count);
  });
  hold(Tag::parameter, p.parameter, rest, fmt::format(" + {}W(N-1)/N", size_of(p.parameter)));
}

// A gradient is whole from the first backward that writes it until `buckets - 1` others have closed
// after it.
void Claim::buckets(const Options& o) {
  const auto size = [this](int home) {
    Segments all;
    all.add({layout_.home(home).first, layout_.home(home).last});
    double total = 0;
    layout_.each_alike(all, [&](const Segment& s, int count) {
      total += layout_.elements(s, Form::whole) * count;
    });
    return total;
  };
  // A home opens with its first trainable segment and closes with its last: its other ones say
  // nothing more.
  std::set<int> opened;
  std::deque<int> closed;
  double alive = 0, peak = 0;
  for (int u = layout_.units(); u-- > 0;) {
    layout_.each_alike(layout_.used_by(u), [&](const Segment& s, int) {
      if (s.trainable && opened.insert(s.home).second) alive += size(s.home);
    });
    peak = std::max(peak, alive);
    std::set<int> ended;
    layout_.each_alike(layout_.completed_by(u), [&](const Segment& s, int) {
      if (!ended.insert(s.home).second) return;
      closed.push_back(s.home);
      for (; static_cast<int>(closed.size()) >= o.buckets; closed.pop_front())
        alive -= size(closed.front());
    });
  }
  hold(Tag::bucket, o.precision.gradient, peak);
}

}  // namespace shardmark
