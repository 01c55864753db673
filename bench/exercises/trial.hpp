#pragma once
// What came of the cells that an exercise asks for? They run as `shardmark run` runs them: a suite
// that the program carries, a fresh process a cell, records in a folder of their own. What fails,
// or does not do what it claims, is no answer and ends the exercise.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/runner.hpp"
#include "bench/summary.hpp"

namespace shardmark {

class Trial {
 public:
  // records: all of them ok. Throws Error where they are not, or contradict each other.
  Trial(std::vector<nlohmann::json> records, std::string folder);
  Trial(Trial&&) = default;

  const std::vector<Group>& groups() const { return groups_; }
  // The one cell whose settings are these, such as {{"strategy", "zero1"}, {"overlap", false}}.
  // Throws Error where there is none, or several.
  const Row& row(const nlohmann::json& settings) const;
  // "24 records in results/runs/..; AMD EPYC, 2 cores."
  std::string about() const;
  bool crowded() const;  // in any cell are more threads than cores

 private:
  std::vector<nlohmann::json> records_;
  std::string folder_;
  std::vector<Group> groups_;
};

// What tests change about a suite: flags of all of its lines, and its rounds.
struct Smaller {
  Given flags;
  std::optional<std::int64_t> rounds;
};
// None where the run was interrupted. Its folder is results/runs/<utc>-<suite>-<commit>.
std::optional<Trial> run_trial(const std::string& suite, CellRunner&, const Smaller& = {});

// Of the calls of a step with one of these verbs: "calls", "volume_bytes" ..; sums over gradients
// and parameters, and not the scalar of the norm.
double called(const Row&, const char* key, std::initializer_list<const char*> verbs);
inline constexpr std::initializer_list<const char*> gradient_verbs = {"all_reduce",
                                                                      "reduce_scatter"};
inline constexpr std::initializer_list<const char*> every_verb = {"all_reduce", "reduce_scatter",
                                                                  "all_gather"};
double parameters_of(const Row&);   // P
double state_bytes_of(const Row&);  // of the model states of rank 0, measured
// The step in ms, and (low..high) of its rounds where there are several.
std::string interval_ms(const Row&, int decimals);
// Bytes a second of the emulated link; 0: none.
double link_rate(const Row&);

}  // namespace shardmark
