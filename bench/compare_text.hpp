#pragma once
// How is a comparison shown: to people, as a job's summary, to programs? The keys of the JSON: base
// and head {path, kind, commit}; threshold (a fraction); across_machines; red; compared,
// regressions (cells); verdicts {SAME, FASTER, SLOWER, AMBIGUOUS, MISSING, NEW, UNTIMED: cells};
// cells [{id, verdict, regression, base_ns, head_ns (medians over rounds), base_rounds,
// head_rounds, ratio, low, high, confidence, exact (equal, differs or null: not compared),
// differences [{what, base, head}], notes}]. What was not measured is null.
#include "bench/compare.hpp"

namespace shardmark {

std::string compare_text(const Comparison&, std::size_t columns = 100);
std::string compare_markdown(const Comparison&);
nlohmann::json compare_json(const Comparison&);

}  // namespace shardmark
