#pragma once
// What became of each cell between two runs? Cells are matched by id. What must repeat exactly is
// compared with no tolerance at all; times by the ratio of ratio.hpp. A name of one side only is
// reported, never dropped, and a comparison that has compared nothing is red.
#include <optional>
#include <set>

#include "bench/compare_side.hpp"
#include "bench/ratio.hpp"

namespace shardmark {

struct CompareOptions {
  double threshold = 0.03;       // a fraction
  bool across_machines = false;  // then only what formulas give
  bool exact_only = false;       // times are not judged
};

struct Difference {
  std::string what;           // "bytes of gradient f32, measured"
  nlohmann::json base, head;  // null: not there
};

struct ComparedCell {
  std::string id;
  Verdict verdict = Verdict::untimed;  // on time, or that a side lacks it
  std::optional<Ratio> ratio;
  double base_ns = 0, head_ns = 0;  // medians over rounds; 0: none
  std::size_t base_rounds = 0, head_rounds = 0;
  bool exactly = false;         // whether anything was compared exactly
  std::set<std::string> kinds;  // of what was: "losses", ..
  std::vector<Difference> differences;
  std::vector<std::string> notes;  // a sentence each: what was not compared, and why
  bool regression() const;         // slower, missing, or another exact value
};

struct Comparison {
  Side base, head;  // without their cells
  CompareOptions options;
  std::vector<ComparedCell> cells;
  std::size_t count(Verdict) const;
  std::size_t differing() const;  // cells with another exact value
  std::size_t compared() const;   // cells of which anything was: exactly, or a time judged
  std::size_t unjudged() const;   // cells of which both sides have times, but no interval
  bool red() const;               // a regression, or nothing compared
};

// Throws InputError: sides of two kinds, of two machines, or nothing that formulas give.
Comparison compare(Side base, Side head, const CompareOptions&);

// An id without when its cell is given up, which says nothing of what it is.
std::string without_time_limits(const std::string& id);

// What to do where too few rounds have no interval.
std::string more_rounds(SideKind);

}  // namespace shardmark
