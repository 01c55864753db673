#include "impl/layout.hpp"

#include <algorithm>
#include <array>
#include <map>

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
    l_.homes_.push_back({0, l_.segments(), l_.segments() - 1});
    const Segment of{.home = home,
                     .in_home = {},
                     .trainable = (k & 1) == 0 && at > 0,
                     .resident = (k & 2) != 0,
                     .first_use = earliest};
    cut(of, at, std::max<std::size_t>(piece, 1), padding(open, piece));
  }

  // By piece of its home, elements that stand between parameters; pieces without any are not named.
  std::map<std::size_t, std::size_t> padding(const Open& open, std::size_t piece) const {
    std::map<std::size_t, std::size_t> out;
    for (int p : open.parameters) {
      const std::size_t size = l_.sizes_[index(p)], end = l_.places_[index(p)].begin + size;
      // A piece ends on a multiple of 8, so that what rounds a parameter up lies in one.
      if (size % align) out[end / piece] += round_up(size, align) - size;
    }
    return out;
  }

  // Cuts `size` elements of the last home into pieces; only those with padding in them and the last
  // one differ from the others.
  void cut(const Segment& of, std::size_t size, std::size_t piece,
           const std::map<std::size_t, std::size_t>& padding) {
    const std::size_t last = size == 0 ? 0 : (size - 1) / piece;
    std::size_t at = 0;
    const auto alike_up_to = [&](std::size_t end) {
      if (end > at) add_run(of, at * piece, end - at, piece, 0);
      at = end;
    };
    for (const auto& [number, without] : padding) {
      if (number == last) break;
      alike_up_to(number);
      add_run(of, at++ * piece, 1, piece, without);
    }
    alike_up_to(last);
    const auto rest = padding.find(last);
    add_run(of, last * piece, 1, size - last * piece, rest == padding.end() ? 0 : rest->second);
  }

  // count pieces of `size` elements each, of which `without` are padding between parameters.
  void add_run(Segment s, std::size_t begin, std::size_t count, std::size_t size,
               std::size_t without) {
    const std::size_t padded = round_up(size, align * index(l_.ranks_));
    const int first = l_.segments_, last = first + static_cast<int>(count) - 1;
    s.real = size - without;
    s.cut = padded / index(l_.ranks_);
    s.in_home = {begin, padded};
    l_.runs_.push_back({first, static_cast<int>(count), s});
    l_.segments_ = last + 1;
    l_.homes_.back().last = last;
    l_.homes_.back().size = begin + padded * count;
    if (s.trainable) l_.trainable_.add({first, last});
    if (s.trainable) l_.completed_[index(s.first_use)].add({first, last});
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
      // What is empty is nowhere waited for.
      if (home(h).size > 0) used_[u].add({home(h).first, home(h).last});
    }
  }
  for (const Passes& p : passes_of(a, o)) reads_behind_.push_back(p.reads_behind);
}

std::size_t Layout::run_of(int s) const {
  const auto behind = std::upper_bound(runs_.begin(), runs_.end(), s,
                                       [](int number, const Run& r) { return number < r.first; });
  return static_cast<std::size_t>(behind - runs_.begin()) - 1;
}

Segment Layout::operator[](int s) const {
  const Run& run = runs_[run_of(s)];
  Segment out = run.segment;
  out.in_home.begin += static_cast<std::size_t>(s - run.first) * out.in_home.size;
  return out;
}

double Layout::elements(const Segment& g, Form form) const {
  const double whole = ideal_ ? static_cast<double>(g.real) : static_cast<double>(g.cut) * ranks_;
  return form == Form::whole ? whole : whole / ranks_;
}

double Layout::elements(Form form, Which which) const {
  double total = 0;
  for (const Run& r : runs_)
    if (which == Which::all || r.segment.trainable) total += elements(r.segment, form) * r.count;
  return total;
}

std::size_t Layout::kept_whole() const {
  std::size_t total = 0;
  for (const Run& r : runs_)
    if (r.segment.resident) total += r.segment.real * static_cast<std::size_t>(r.count);
  return total;
}

}  // namespace shardmark
