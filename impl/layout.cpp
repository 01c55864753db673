#include "impl/layout.hpp"

#include <algorithm>
#include <array>

#include "impl/passes.hpp"

namespace shardmark {
namespace {
std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }
}  // namespace

// Collects parameters in order of first use, one open home for each kind (trainable or frozen, cut
// or resident).
class Layout::Builder {
 public:
  Builder(Layout& l, const Architecture& a)
      : l_(l), first_(a.parameters.size(), -1), last_(first_) {
    for (const Parameter& p : a.parameters) l_.sizes_.push_back(p.size);
    for (int u = 0; u < static_cast<int>(a.units.size()); ++u)
      for (int p : a.units[index(u)].uses) {
        if (first_[index(p)] < 0) first_[index(p)] = u;
        last_[index(p)] = u;
      }
  }
  bool starts_at(int p, int unit) const { return first_[index(p)] == unit; }
  void add(int p, bool frozen, bool resident) {
    Open& open = open_[kind(frozen, resident)];
    open.parameters.push_back(p);
    open.size += round_up(l_.sizes_[index(p)], align);
  }
  // Homes that hold at least so many elements are complete.
  void close(std::size_t at_least, std::size_t bucket) {
    for (std::size_t k = 0; k < open_.size(); ++k)
      if (!open_[k].parameters.empty() && open_[k].size >= at_least) close_one(k, bucket);
  }

 private:
  struct Open {
    std::vector<int> parameters;
    std::size_t size = 0;  // with each parameter rounded up to the alignment
  };
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static std::size_t kind(bool frozen, bool resident) {
    return (frozen ? 1u : 0u) + (resident ? 2u : 0u);
  }

  void close_one(std::size_t k, std::size_t bucket) {
    Open open;
    std::swap(open, open_[k]);
    const std::size_t grain = align * index(l_.ranks_);
    const int home = static_cast<int>(l_.homes_.size());
    int earliest = first_[index(open.parameters.front())], latest = earliest;
    std::size_t at = 0;
    for (int p : open.parameters) {
      l_.places_[index(p)] = {home, at};
      at += round_up(l_.sizes_[index(p)], align);
      earliest = std::min(earliest, first_[index(p)]);
      latest = std::max(latest, first_[index(p)]);
    }
    // One unit's parameters may be split at the bucket size; several units travel together.
    const std::size_t piece =
        bucket && earliest == latest ? std::max(grain, bucket / grain * grain) : at;
    Home h{0, l_.segments(), l_.segments() - 1};
    for (std::size_t begin = 0; begin < at || h.last < h.first; begin += piece) {
      const std::size_t end = std::min(at, begin + piece), padded = round_up(end - begin, grain);
      Segment s{real(open, begin, end),
                padded / index(l_.ranks_),
                home,
                {begin, padded},
                (k & 1) == 0 && padded > 0,
                (k & 2) != 0,
                earliest};
      if (s.trainable) l_.trainable_.push_back(l_.segments());
      h.last = l_.segments();
      h.size = begin + padded;
      l_.segments_.push_back(s);
    }
    l_.homes_.push_back(h);
  }

  std::size_t real(const Open& open, std::size_t begin, std::size_t end) const {
    std::size_t total = 0;
    for (int p : open.parameters) {
      const std::size_t from = std::max(begin, l_.places_[index(p)].begin);
      const std::size_t to = std::min(end, l_.places_[index(p)].begin + l_.sizes_[index(p)]);
      if (to > from) total += to - from;
    }
    return total;
  }

  Layout& l_;
  std::vector<int> first_, last_;
  std::array<Open, 4> open_;
};

Layout::Layout(const Architecture& a, const Options& o, int ranks, int rank, bool by_unit)
    : places_(a.parameters.size()),
      used_(a.units.size()),
      completed_(a.units.size()),
      ranks_(ranks),
      rank_(rank),
      collectives_(o.collectives) {
  const std::size_t bucket = by_unit ? 0 : o.bucket_elements;
  Builder builder(*this, a);
  for (int u = 0; u < units(); ++u) {
    for (int p : a.units[static_cast<std::size_t>(u)].uses)
      if (builder.starts_at(p, u)) {
        builder.add(p, is_frozen(o, p), by_unit && parameter_size(p) < o.persist_below);
      }
    builder.close(by_unit ? 0 : bucket, bucket);
  }
  builder.close(0, bucket);

  for (std::size_t u = 0; u < used_.size(); ++u) {
    std::vector<bool> seen(homes_.size());
    for (int p : a.units[u].uses) {
      const int h = place(p).home;
      if (seen[static_cast<std::size_t>(h)]) continue;
      seen[static_cast<std::size_t>(h)] = true;
      for (int s = home(h).first; s <= home(h).last; ++s)
        if ((*this)[s].cut > 0) used_[u].push_back(s);  // what is empty is nowhere waited for
    }
  }
  for (const Passes& p : passes_of(a, o)) reads_behind_.push_back(p.reads_behind);
  for (int s : trainable_) completed_[static_cast<std::size_t>((*this)[s].first_use)].push_back(s);
}

double Layout::elements(int s, Form form) const {
  const Segment& g = (*this)[s];
  const double whole = ideal_ ? static_cast<double>(g.real) : static_cast<double>(g.cut) * ranks_;
  return form == Form::whole ? whole : whole / ranks_;
}

double Layout::elements(Form form, Which which) const {
  double total = 0;
  for (int s = 0; s < segments(); ++s)
    if (which == Which::all || (*this)[s].trainable) total += elements(s, form);
  return total;
}

std::size_t Layout::kept_whole() const {
  std::size_t total = 0;
  for (const Segment& s : segments_)
    if (s.resident) total += s.real;
  return total;
}

}  // namespace shardmark
