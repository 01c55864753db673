#include "bench/memory_fit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/units.hpp"

namespace shardmark {

namespace {

// Only a bound of the peak is known, and it does not fit; model states, which are held all at once,
// do.
bool may_fit(const Prediction& p, double memory_bytes) {
  return !p.peak_exact && p.peak_bytes > memory_bytes && p.model_state_bytes() <= memory_bytes;
}

}  // namespace

double over_bytes(const Prediction& p, double memory_bytes) {
  return std::max(0.0, p.peak_bytes - memory_bytes);
}

nlohmann::json memory_json(const Prediction& p, double memory_bytes) {
  const double over = over_bytes(p, memory_bytes);
  return {{"memory_bytes", memory_bytes},
          {"fits", may_fit(p, memory_bytes) ? nlohmann::json() : nlohmann::json(over == 0)},
          {"over_bytes", over},
          {"over_is", p.peak_exact || over == 0 ? "exact" : "an upper bound"}};
}

std::string memory_text(const std::vector<Prediction>& all, double memory_bytes) {
  const auto count = [&](auto&& what) { return std::count_if(all.begin(), all.end(), what); };
  const auto fit = count([&](const Prediction& p) { return over_bytes(p, memory_bytes) == 0; });
  const auto may = count([&](const Prediction& p) { return may_fit(p, memory_bytes); });
  const std::string memory = with_unit(memory_bytes, "B") + " a rank";
  if (fit > 0)
    return fmt::format("{} of {} row{} into {}{}.", fit, all.size(),
                       all.size() == 1 ? " fits" : "s fit", memory,
                       may > 0 ? fmt::format(", and {} more may", may) : "");
  const Prediction& nearest = *std::min_element(
      all.begin(), all.end(),
      [](const Prediction& a, const Prediction& b) { return a.peak_bytes < b.peak_bytes; });
  return fmt::format("{} into {}: {} on {} rank{} is nearest, and needs {}{} more.",
                     may > 0 ? "Nothing is sure to fit" : "Nothing fits", memory,
                     nearest.cell.strategy, grouped(nearest.cell.ranks),
                     nearest.cell.ranks == 1 ? "" : "s", nearest.peak_exact ? "" : "at most ",
                     with_unit(over_bytes(nearest, memory_bytes), "B"));
}

}  // namespace shardmark
