#pragma once
// Which cell does a DeepSpeed or Accelerate config mean? Flags of `shardmark run`, and a line for
// every key of the file: what it became, or why it became nothing. What is wrong or contradicts
// itself is refused, and what a file leaves to others is never guessed.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/suite.hpp"

namespace shardmark {

// Whose defaults are taken where a file is silent.
inline constexpr const char* assumed_deepspeed = "0.18";
inline constexpr const char* assumed_accelerate = "1.10";

struct Imported {
  Given given;
  // By flag the key that says it in so many words: neither by silence nor by "auto".
  std::map<std::string, std::string> said;
  struct Line {
    std::string key, value, became;  // "zero_optimization.stage", "2", "--strategy zero2"
    bool operator==(const Line&) const = default;
  };
  std::vector<Line> mapped;
  std::vector<Line> left_open;  // "auto" or absent, and nothing here says what it is
  std::vector<Line> ignored;    // changes no byte, no call and no time of a step
  std::vector<Line> unsupported;
  // What DeepSpeed or FSDP does that the cell does not, a sentence each.
  std::vector<std::string> notes;
  std::string kind;  // "DeepSpeed", "Accelerate with FSDP2"
};

// What stands in no strategy config. hidden_size: what "auto" follows from; unit: elements of a
// layer, in which prefetching is counted here.
struct ImportFacts {
  std::optional<std::size_t> hidden_size, parameters, unit;
  std::optional<std::int64_t> ranks;
  std::optional<std::string> precision;  // fp32, bf16 or fp16: what "auto" is
  // Where the file leaves them out: of a rank and micro-step, micro-steps, and the type that
  // gradients travel in.
  std::optional<std::int64_t> batch, accumulate;
  std::optional<std::string> wire;
  // Reads a file that the config names; without it such a config is refused.
  std::function<std::string(const std::string& file)> read;
};
ImportFacts facts_of_model(const std::string& model);  // as --model takes it; throws InputError

// file: its name, for sentences, and for what it is: JSON or YAML. Throws InputError.
Imported import_strategy(const std::string& text, const std::string& file, const ImportFacts&);

// "shardmark run --strategy zero2 ...", in the order of cell_flags().
std::string run_line(const Given&);

}  // namespace shardmark
