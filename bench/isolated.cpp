// How is one cell run apart from everything else, and what came of it? See isolated.hpp.
#include "bench/isolated.hpp"

#include <fmt/format.h>
#include <signal.h>

#include "bench/guard.hpp"
#include "bench/last_words.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

// The last lines of standard error as one line: where a process dies, that is where it says why.
std::string last_lines(const std::string& errors) {
  std::vector<std::string> lines;
  for (const std::string& line : split(errors, '\n'))
    if (!trimmed(line).empty()) lines.push_back(trimmed(line));
  if (lines.size() > 3) lines.erase(lines.begin(), lines.end() - 3);
  return lines.empty() ? "" : fmt::format("; its last words: {}", join(lines, " / "));
}

bool memory_ran_out(const std::string& failure) {
  return failure.find("memory ran out") != failure.npos ||
         failure.find("out of memory") != failure.npos;
}

std::string too_long(double timeout_s) {
  return fmt::format("it took longer than its --timeout of {} s and was ended", timeout_s);
}

// What a rank or a process said, put into the words of what was asked for.
std::string in_our_words(const Cell& cell, std::string failure) {
  // What the library says of it is the name of a type.
  constexpr std::string_view type = "std::bad_alloc";
  if (const std::size_t at = failure.find(type); at != failure.npos)
    failure.replace(at, type.size(), "memory ran out");
  if (cell.memory_limit_bytes == 0 || !memory_ran_out(failure)) return failure;
  return fmt::format("it exceeded its --memory-limit of {}: {}",
                     bytes_text(cell.memory_limit_bytes), failure);
}

Launch launch_of(const Cell& c) {
  // Beside the thread that feeds a GPU there are those of NCCL and the driver, and which cores are
  // near to it the system knows.
  return {c.launcher, c.ranks, c.threads_per_rank + (c.overlap && c.ranks > 1 ? 1 : 0), c.interface,
          c.device != "cuda"};
}

std::vector<Launch> launches_of(const std::vector<Cell>& cells) {
  std::vector<Launch> all;
  for (const Cell& c : cells)
    if (of_processes(c)) all.push_back(launch_of(c));
  return all;
}

}  // namespace

Answer answer_of(const Cell& cell, const ProcessEnd& end) {
  switch (end.how) {
    case ProcessEnd::How::timed_out:
      return {nullptr, too_long(cell.timeout_s)};
    case ProcessEnd::How::over_memory:
      return {nullptr,
              fmt::format(
                  "it exceeded its --memory-limit of {}: {} bytes were resident, and it was ended",
                  bytes_text(cell.memory_limit_bytes), end.resident_peak_bytes)};
    case ProcessEnd::How::interrupted:
      return {nullptr, "the run was interrupted"};
    case ProcessEnd::How::crashed:
      return {nullptr,
              fmt::format("it was ended by {}{}{}", signal_text(end.signal),
                          end.signal == SIGKILL ? ", as the system does when memory runs out" : "",
                          last_lines(end.errors))};
    case ProcessEnd::How::exited:
      break;
  }
  const json answer = json::parse(end.output, nullptr, false);
  if (end.exit_code == 0 && answer.is_object() && answer.contains("sections"))
    return {answer["sections"], ""};
  if (!answer.is_object() || !answer.contains("failure"))
    return {nullptr, fmt::format("its process ended with exit code {} and no answer{}",
                                 end.exit_code, last_lines(end.errors))};
  return {nullptr, in_our_words(cell, answer["failure"])};
}

Answer answer_of_ranks(std::int64_t ranks, double timeout_s, const ProcessEnd& end) {
  Heard heard;
  heard.hear_lines(end.output);
  if (end.how == ProcessEnd::How::exited && end.exit_code == 0 && heard.sections.is_object())
    return {std::move(heard.sections), ""};
  std::string first;
  if (end.how == ProcessEnd::How::timed_out) first = too_long(timeout_s);
  if (end.how == ProcessEnd::How::interrupted) first = "the run was interrupted";
  if (end.how == ProcessEnd::How::crashed)
    first = fmt::format("its launcher's guard was ended by {}", signal_text(end.signal));
  // Open MPI names a rank that died only where that was what ended the job.
  if (const auto death = death_in(end.errors); death && first.empty()) first = death_text(*death);
  if (first.empty() && heard.failures.empty())
    first = fmt::format("its launcher ended with exit code {} {}{}", end.exit_code,
                        heard.sections.is_object() ? "after rank 0 had answered" : "and no answer",
                        end.errors.empty() ? "" : ", but: " + launcher_says(end.errors));
  return {nullptr, reason_of(heard, ranks, first)};
}

IsolatedCells::IsolatedCells(const std::vector<Cell>& cells)
    : where_(preflight(launches_of(cells), interrupts_)) {}

ProcessEnd IsolatedCells::process(const Cell& cell) {
  const std::string input = to_json(cell).dump();
  if (!of_processes(cell))
    return run_self({"shardmark", "cell", "-"}, input, {cell.timeout_s, cell.memory_limit_bytes, 0},
                    interrupts_);
  return run_launched(launch_of(cell), where_.at(cell.launcher), {"cell", "-"}, input,
                      cell.timeout_s, interrupts_);
}

std::optional<Ended> IsolatedCells::run(const Cell& cell, const Attempt&) {
  ProcessEnd end = process(cell);
  // The signal came as the cell ended: nobody had to end it, and what it did counts.
  if (end.how == ProcessEnd::How::interrupted && end.signal == 0 &&
      end.exit_code != exit_asked_to_end)
    end.how = ProcessEnd::How::exited;
  if (end.how != ProcessEnd::How::exited && interrupts_.seen()) return std::nullopt;
  const bool launched = of_processes(cell);
  Answer answer =
      launched ? answer_of_ranks(cell.ranks, cell.timeout_s, end) : answer_of(cell, end);
  if (launched) answer.failure = in_our_words(cell, answer.failure);
  return Ended{std::move(answer.sections), std::move(answer.failure), end.wall_ns};
}

}  // namespace shardmark
