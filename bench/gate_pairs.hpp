#pragma once
// How are the samples of the gate made? Base and head of a cell run right after one another, which
// of them first is up to a seeded coin, and a pass is such a pair of every cell in a random order.
// Every sample is a line of a file as soon as it is there.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/gate_verdict.hpp"
#include "bench/process.hpp"

namespace shardmark {

struct GateCell {
  std::string id;
  nlohmann::json base, head;  // the cell, as each side's own program has resolved it
  bool crowded = false;       // more threads than cores
  bool control = false;       // base in both roles
  std::vector<TimePair> first = {}, confirming = {};
  std::string failure = {};  // of head, or of base; then it is measured no more
  bool base_failed = false;
};

enum class GateStage { first, confirming };

struct GateProgram {
  std::filesystem::path base, head;
  std::string inject;  // into head, to see that it is found; empty: nothing
};

class PairRunner {
 public:
  // Throws InputError where the file cannot be written.
  PairRunner(GateProgram, const std::filesystem::path& samples, std::uint64_t seed, Interrupts&);
  // One pass. false: interrupted.
  bool pass(GateStage, std::size_t number, const std::vector<GateCell*>&);

 private:
  enum class Role { base, head };
  void pair(GateStage, std::size_t number, std::size_t index, GateCell&);
  double sample(GateStage, std::size_t number, GateCell&, Role, bool ran_first);
  GateProgram programs_;
  std::filesystem::path path_;
  std::ofstream file_;
  std::uint64_t seed_;
  Interrupts& interrupts_;
};

// The cells of such a file with all their pairs, in the order in which they ran, under `first`.
// Throws InputError: not readable, a line that is no sample.
std::vector<GateCell> read_samples(const std::filesystem::path&);

}  // namespace shardmark
