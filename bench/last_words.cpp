// Why did a cell of several processes end early? See last_words.hpp.
#include "bench/last_words.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <regex>

#include "bench/process.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

constexpr std::size_t ranks_told = 4;  // of many, so that a sentence stays one

// srun has no number, but the system's word: "task 1: Killed".
int signal_named(const std::string& word) {
  for (int s = 1; s < NSIG; ++s)
    if (const char* text = ::sigdescr_np(s); text && word == text) return s;
  return 0;
}

// For whom did the others wait? Not for one that waited itself: a process that is stopped does not
// count the time as waited, and one that is stuck in computing waits for nobody.
std::optional<int> waited_for(const Heard& heard, std::int64_t ranks) {
  const auto failed = [&](int rank) {
    return std::any_of(heard.failures.begin(), heard.failures.end(),
                       [&](const auto& f) { return f.first == rank; });
  };
  std::optional<int> least;
  for (int r = 0; r < ranks; ++r) {
    if (failed(r)) continue;
    const auto said = heard.words.find(r);
    if (said == heard.words.end()) return r;
    if (!least || said->second.waited_ns < heard.words.at(*least).waited_ns) least = r;
  }
  return least;
}

constexpr const char* words_file = "last_words.jsonl";

Heard kept_words(const std::filesystem::path& folder, const std::string& cell_id,
                 std::int64_t round) {
  Heard heard;
  std::ifstream in(folder / words_file);
  for (std::string text; std::getline(in, text);) {
    const json line = json::parse(text, nullptr, false);
    if (line.is_object() && line.value("cell", "") == cell_id && line.value("round", 0) == round)
      heard.hear(line);
  }
  return heard;
}

std::string words_of(const Heard& heard, int rank) {
  const auto said = heard.words.find(rank);
  return said == heard.words.end() ? "no last words" : said->second.text;
}

}  // namespace

json failure_line(const Failure& f) { return {{"failure", failure_text(f)}, {"rank", f.rank}}; }

std::string failure_text(const Failure& f) {
  return fmt::format("rank {} failed at {}", f.rank, f.what);
}

json last_words_line(int rank, const Activity& a) {
  return {
      {"last_words", {{"rank", rank}, {"text", a.text()}, {"waited_ns", a.waited_lately_ns()}}}};
}

std::optional<Death> death_in(const std::string& errors) {
  static const std::regex open_mpi(
      "noticed\\s+that\\s+process\\s+rank\\s+(\\d+)\\s+with\\s+PID\\s+\\d+\\s+on\\s+node\\s+\\S+"
      "\\s+"
      "exited\\s+on\\s+signal\\s+(\\d+)");  // its lines end anywhere
  static const std::regex slurm("task (\\d+): ([A-Z][a-z]+(?: [a-z]+)?)");
  std::smatch match;
  if (std::regex_search(errors, match, open_mpi))
    return Death{std::stoi(match[1]), std::stoi(match[2])};
  if (std::regex_search(errors, match, slurm))
    if (const int signal = signal_named(match[2])) return Death{std::stoi(match[1]), signal};
  return std::nullopt;
}

std::string death_text(const Death& d) {
  return fmt::format("rank {} was ended by {}{}", d.rank, signal_text(d.signal),
                     d.signal == SIGKILL ? ", as the system does when memory runs out" : "");
}

void Heard::hear(const json& line) {
  if (!line.is_object()) return;
  try {
    if (line.contains("sections")) sections = line["sections"];
    if (line.contains("failure"))
      failures.emplace_back(line.value("rank", 0), line["failure"].get<std::string>());
    if (const auto it = line.find("last_words"); it != line.end())
      words[it->at("rank")] = {it->at("text"), it->at("waited_ns")};
  } catch (const json::exception&) {  // not a line of ours
  }
}

void Heard::hear_lines(const std::string& output) {
  for (const std::string& line : split(output, '\n')) hear(json::parse(line, nullptr, false));
}

std::string reason_of(const Heard& heard, std::int64_t ranks, std::string first) {
  std::string reason = std::move(first);
  const bool told = reason.empty() && !heard.failures.empty();
  if (told) reason = heard.failures.front().second;
  std::optional<int> named;
  if (told && reason.find("waited more than") != reason.npos) named = waited_for(heard, ranks);
  if (named)
    reason += fmt::format("; they waited for rank {} ({})", *named, words_of(heard, *named));
  std::size_t others = 0;
  for (const auto& [rank, words] : heard.words) {
    const bool said = (told && heard.failures.front().first == rank) || named == rank;
    if (said || ++others > ranks_told) continue;
    reason += fmt::format("{}rank {}: {}", reason.empty() ? "" : "; ", rank, words.text);
  }
  if (others > ranks_told) reason += fmt::format("; and {} more ranks", others - ranks_told);
  return reason;
}

void keep_last_words(const std::filesystem::path& folder, const std::string& cell_id,
                     std::int64_t round, json line) {
  line["cell"] = cell_id;
  line["round"] = round;
  const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  const int file =
      ::open((folder / words_file).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  // One write, so that the lines of several ranks do not mix; no sync, for which a launcher that
  // ends a job leaves no time.
  const ssize_t written = ::write(file, text.data(), text.size());
  static_cast<void>(written);
  ::close(file);
}

void forget_last_words(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::remove(folder / words_file, ignored);
}

bool all_were_asked_to_end(const std::filesystem::path& folder, const std::string& cell_id,
                           std::int64_t round, std::int64_t ranks) {
  const Heard heard = kept_words(folder, cell_id, round);
  return heard.failures.empty() && heard.words.size() == static_cast<std::size_t>(ranks);
}

std::string why_it_ended(const std::filesystem::path& folder, const std::string& cell_id,
                         std::int64_t round, std::int64_t ranks) {
  const Heard heard = kept_words(folder, cell_id, round);
  std::string first = heard.failures.empty() ? "the job ended while it ran" : "";
  std::vector<std::string> silent;
  for (int r = 0; r < ranks; ++r)
    if (!heard.words.count(r)) silent.push_back(fmt::to_string(r));
  if (heard.failures.empty() && !heard.words.empty() && !silent.empty())
    first += fmt::format(", and rank {} gave no last words", join(silent, ", "));
  return reason_of(heard, ranks, first);
}

}  // namespace shardmark
