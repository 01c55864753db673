#pragma once
// Of what is a comparison shown, whatever the form? Figures of a cell, sentences about all of them.
#include "bench/compare.hpp"

namespace shardmark {

inline constexpr Verdict shown_verdicts[] = {Verdict::same,      Verdict::faster,  Verdict::slower,
                                             Verdict::ambiguous, Verdict::missing, Verdict::added,
                                             Verdict::untimed};

// One unit for all times, in which the smallest is no fraction.
struct TimeUnit {
  double ns = 1e6;
  const char* name = "ms";
  int decimals = 0;
  std::string text(double value) const;
};
TimeUnit unit_of(const Comparison&);

// base, head, head/base, interval, rounds, exact, time with its marks.
std::vector<std::string> figures(const ComparedCell&, const TimeUnit&, const std::string& marks);

std::string value_text(const nlohmann::json&);
std::string cells_text(std::size_t count);  // "1 cell"
std::string side_text(const char* which, const Side&);
std::string compare_summary(const Comparison&);
std::string compare_legend(const Comparison&);  // may be empty

}  // namespace shardmark
