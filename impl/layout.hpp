#pragma once
// Which elements travel together, which unit needs them, and which N-th is mine?
//
// A segment is what one collective reduces or gathers: several whole units' parameters, or part of
// one unit's; all trainable or all frozen, all resident or all cut. Consecutive segments share a
// home, one allocation. Parameters start on multiples of 8 elements, segments inside a home end on
// multiples of 8N: only a home's end is padded for N.

#include "impl/architecture.hpp"
#include "impl/options.hpp"
#include "impl/segments.hpp"

namespace shardmark {

enum class Form : std::uint8_t { whole, cut };  // cut: one N-th on each rank
enum class Which : std::uint8_t { all, trainable };

struct Segment {
  std::size_t real = 0;  // parameter elements in it, without padding
  std::size_t cut = 0;   // elements a rank owns
  int home = 0;
  Range in_home;
  bool trainable = true, resident = false;
  int first_use = 0;  // unit number; its gradient is final after the backward of that unit
};
struct Home {
  std::size_t size = 0;  // elements
  int first = 0, last = -1;
};
struct Place {
  int home = -1;
  std::size_t begin = 0;  // in its home
};

class Layout {
 public:
  static constexpr std::size_t align = 8;

  // by_unit: a segment a unit (zero3); else buckets of options.bucket_elements.
  Layout(const Architecture&, const Options&, int ranks, int rank, bool by_unit);
  Layout textbook() const {  // as papers count: P and N alone, no padding
    Layout l = *this;
    l.ideal_ = true;
    return l;
  }

  bool is_textbook() const { return ideal_; }
  Collectives collectives() const { return collectives_; }  // who will exchange the segments

  int ranks() const { return ranks_; }
  int rank() const { return rank_; }
  int units() const { return static_cast<int>(used_.size()); }
  int segments() const { return segments_; }
  int homes() const { return static_cast<int>(homes_.size()); }
  int parameters() const { return static_cast<int>(places_.size()); }
  Segment operator[](int s) const;
  const Home& home(int h) const { return homes_[static_cast<std::size_t>(h)]; }
  const Place& place(int p) const { return places_[static_cast<std::size_t>(p)]; }
  std::size_t parameter_size(int p) const { return sizes_[static_cast<std::size_t>(p)]; }

  Range owned(int s, int rank) const {  // inside its home
    const Segment g = (*this)[s];
    return {g.in_home.begin + static_cast<std::size_t>(rank) * g.cut, g.cut};
  }
  Range owned(int s) const { return owned(s, rank_); }
  const Segments& used_by(int u) const {
    return used_[static_cast<std::size_t>(u)];
  }  // segments of unit u
  // A micro-batch visits its units forward, then backward: visit v is unit v, then 2 units - 1 - v.
  int visits() const { return 2 * units(); }
  int unit_of(int visit) const { return visit < units() ? visit : visits() - 1 - visit; }
  // Segments that a visit reads; none where a unit's backward reads no weights.
  const Segments& read_by(int visit) const {
    const int u = unit_of(visit);
    return visit < units() || reads_behind_[static_cast<std::size_t>(u)] ? used_by(u) : nothing_;
  }
  // Segments whose gradient is final after the backward of unit u.
  const Segments& completed_by(int u) const { return completed_[static_cast<std::size_t>(u)]; }
  const Segments& trainable() const { return trainable_; }
  // Calls see(segment, count) for stretches of segments that are alike but for their places: the
  // first of them, and how many.
  template <class See>
  void each_alike(const Segments& all, See see) const {
    for (Segments::Stretch s : all.stretches())
      for (std::size_t at = run_of(s.first); s.first <= s.last; ++at) {
        const int last = std::min(s.last, runs_[at].first + runs_[at].count - 1);
        see((*this)[s.first], last - s.first + 1);
        s.first = last + 1;
      }
  }

  // For claims: elements, padding included unless textbook().
  double elements(const Segment&, Form) const;
  double elements(int s, Form f) const { return elements((*this)[s], f); }
  double elements(Form, Which) const;
  std::size_t kept_whole() const;  // W: parameter elements that are resident
  bool all_trainable() const { return trainable_.size() == static_cast<std::size_t>(segments_); }

 private:
  class Builder;
  // Consecutive segments of one home that are alike; the first of them.
  struct Run {
    int first = 0, count = 0;
    Segment segment;
  };
  std::size_t run_of(int s) const;

  std::vector<Run> runs_;
  int segments_ = 0;
  std::vector<Home> homes_;
  std::vector<Place> places_;
  std::vector<std::size_t> sizes_;
  std::vector<Segments> used_, completed_;
  Segments trainable_, nothing_;
  std::vector<bool> reads_behind_;  // by unit
  int ranks_ = 1, rank_ = 0;
  bool ideal_ = false;
  Collectives collectives_ = Collectives::memory;
};

}  // namespace shardmark
