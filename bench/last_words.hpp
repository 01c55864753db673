#pragma once
// Why did a cell of several processes end early, told from what each rank said last? A rank that
// fails says so in a line of JSON before the job is aborted; every other one, when it is asked to
// end, says what it was doing; and the launcher says which rank died without a word.
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "impl/comm/world.hpp"

namespace shardmark {

// The lines, as ranks print them: {"failure": sentence, "rank": r} and {"last_words": ...}.
nlohmann::json failure_line(const Failure&);
nlohmann::json last_words_line(int rank, const Activity&);
// "rank 1 failed at step 3: ..."
std::string failure_text(const Failure&);

// A rank that a signal ended, as the launcher saw it.
struct Death {
  int rank = -1, signal = 0;
};
// None where standard error of mpirun or srun tells of no such thing.
std::optional<Death> death_in(const std::string& errors);

// What was said by one job.
struct Heard {
  struct Words {
    std::string text;
    std::int64_t waited_ns = 0;
  };
  std::vector<std::pair<int, std::string>> failures;  // by rank, in order
  std::map<int, Words> words;
  nlohmann::json sections;  // of the record, from rank 0; null: none
  void hear(const nlohmann::json& line);
  void hear_lines(const std::string& output);
  bool anything() const { return !failures.empty() || !words.empty(); }
};

// One sentence, which names the rank, its verb and its step where that is known. first: what is
// known to have ended the job without anybody's word; empty: the first failure, or what the words
// leave open.
std::string reason_of(const Heard&, std::int64_t ranks, std::string first = "");
std::string death_text(const Death&);

// In a world that was given nobody listens to the ranks' standard output: their lines stand in a
// file of the run's folder until the run goes on. Where it cannot be written, nothing is said.
void keep_last_words(const std::filesystem::path& folder, const std::string& cell_id,
                     std::int64_t round, nlohmann::json line);
void forget_last_words(const std::filesystem::path& folder);
// Of a cell that was started and has no end: every rank of it was well when a signal asked it to
// end, and none had failed.
bool all_were_asked_to_end(const std::filesystem::path& folder, const std::string& cell_id,
                           std::int64_t round, std::int64_t ranks);
// Else this is why.
std::string why_it_ended(const std::filesystem::path& folder, const std::string& cell_id,
                         std::int64_t round, std::int64_t ranks);

}  // namespace shardmark
