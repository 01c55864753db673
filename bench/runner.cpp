// How is a suite executed? See runner.hpp.
#include "bench/runner.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <map>
#include <optional>
#include <random>
#include <set>

#include "bench/machine.hpp"
#include "bench/progress.hpp"
#include "bench/record.hpp"
#include "bench/run_folder.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

constexpr const char* sections[] = {"corpus",  "time",     "rates",    "bytes",
                                    "traffic", "training", "resident", "checks"};

struct Task {
  std::size_t cell;
  std::int64_t round, position;
};

// The last lines of standard error as one line: where a process dies, that is where it says why.
std::string last_words(const std::string& errors) {
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

class Execution {
 public:
  Execution(const Suite& suite, RunFolder& folder)
      : suite_(suite), run_(folder.id), writer_(*folder.writer), machine_(machine()) {
    for (const Cell& c : suite.cells) cells_.push_back(to_json(c));
    for (const json& r : latest(read_records(folder.path).records))
      if (text_at(r, "status") == "ok") recorded_.insert({r["cell"].dump(), r["round"]});
  }

  RunOutcome run() {
    const std::vector<Task> tasks = open_tasks();
    std::vector<std::string> ids;
    for (const Task& t : tasks) ids.push_back(cells_[t.cell]["id"]);
    Progress progress(std::move(ids), suite_.run.rounds);
    for (const Task& t : tasks) {
      progress.starts(cells_[t.cell]["id"], t.round);
      if (const auto record = record_of(t)) {
        writer_.append(*record);
        progress.ended(*record);
      }
      if (interrupts_.seen()) return {interrupts_.signal()};
    }
    return {};
  }

 private:
  std::vector<Task> open_tasks() const {
    std::vector<Task> tasks;
    for (std::int64_t round = 1; round <= suite_.run.rounds; ++round) {
      std::int64_t position = 0;
      for (const std::size_t cell : order_of(cells_.size(), suite_.run.order_seed, round)) {
        ++position;
        if (!recorded_.count({cells_[cell].dump(), round}))
          tasks.push_back({cell, round, position});
      }
    }
    return tasks;
  }

  // None where the run was interrupted before the cell had ended by itself.
  std::optional<json> record_of(const Task& t) {
    const Cell& cell = suite_.cells[t.cell];
    json r = {{"schema_version", schema_version},
              {"run", run_},
              {"suite", suite_.name},
              {"round", t.round},
              {"round_seed", suite_.run.order_seed},
              {"position", t.position},
              {"started_utc", utc("%Y-%m-%dT%H:%M:%SZ")},
              {"wall_ns", 0},
              {"machine", machine_},
              {"cell", cells_[t.cell]},
              {"status", "ok"},
              {"reason", ""},
              {"isolation", "process"},
              {"oversubscribed", oversubscribed(cell, machine_["cores_usable"].get<unsigned>())}};
    set_commit(r);
    if (const auto failed = failed_.find(t.cell); failed != failed_.end()) {
      set_failure(r, "skipped", failed->second);
      return r;
    }
    ProcessEnd end = run_self({"shardmark", "cell", "-"}, cells_[t.cell].dump(),
                              {cell.timeout_s, cell.memory_limit_bytes}, interrupts_);
    // The signal came as the cell ended: nobody had to end it, and what it did counts.
    if (end.how == ProcessEnd::How::interrupted && end.signal == 0)
      end.how = ProcessEnd::How::exited;
    if (end.how != ProcessEnd::How::exited && interrupts_.seen()) return std::nullopt;
    r["wall_ns"] = end.wall_ns;
    const Answer answer = answer_of(cell, end);
    if (answer.failure.empty()) {
      r.update(answer.sections);
    } else {
      set_failure(r, "failed", answer.failure);
      // It would fail again, and a cell that hangs would cost its limit in every round.
      failed_[t.cell] = fmt::format("it failed in round {}", t.round);
    }
    return r;
  }

  void set_commit(json& r) const {
    const Revision built = revision();
    r["commit"] = built.commit.empty() ? json(nullptr) : json(built.commit);
    r["dirty"] = built.dirty ? json(*built.dirty) : json(nullptr);
    for (const char* key : {"commit", "dirty"})
      if (r[key].is_null())
        r[std::string(key) + "_reason"] = "the sources were no git checkout when they were built";
  }

  static void set_failure(json& r, const char* status, const std::string& why) {
    r["status"] = status;
    r["reason"] = why;
    for (const char* key : sections) {
      r[key] = nullptr;
      r[std::string(key) + "_reason"] = why;
    }
  }

  const Suite& suite_;
  std::string run_;
  RecordWriter& writer_;
  json machine_;
  std::vector<json> cells_;
  std::set<std::pair<std::string, std::int64_t>> recorded_;  // cell, round
  std::map<std::size_t, std::string> failed_;                // cell: why it is skipped from now on
  Interrupts interrupts_;
};

}  // namespace

std::vector<std::size_t> order_of(std::size_t n, std::uint64_t seed, std::int64_t round) {
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  // The generator's numbers are fixed by the standard, those of std::shuffle are not. Modulo's bias
  // is below n / 2^64.
  std::mt19937_64 random(seed * 1'000'003 + static_cast<std::uint64_t>(round));
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

Answer answer_of(const Cell& cell, const ProcessEnd& end) {
  const std::string limit = bytes_text(cell.memory_limit_bytes);
  switch (end.how) {
    case ProcessEnd::How::timed_out:
      return {nullptr, fmt::format("it took longer than its --timeout of {} s and was ended",
                                   cell.timeout_s)};
    case ProcessEnd::How::over_memory:
      return {nullptr,
              fmt::format(
                  "it exceeded its --memory-limit of {}: {} bytes were resident, and it was ended",
                  limit, end.resident_peak_bytes)};
    case ProcessEnd::How::interrupted:
      return {nullptr, "the run was interrupted"};
    case ProcessEnd::How::crashed:
      return {nullptr,
              fmt::format("it was ended by {}{}{}", signal_text(end.signal),
                          end.signal == SIGKILL ? ", as the system does when memory runs out" : "",
                          last_words(end.errors))};
    case ProcessEnd::How::exited:
      break;
  }
  const json answer = json::parse(end.output, nullptr, false);
  if (end.exit_code == 0 && answer.is_object() && answer.contains("sections"))
    return {answer["sections"], ""};
  if (!answer.is_object() || !answer.contains("failure"))
    return {nullptr, fmt::format("its process ended with exit code {} and no answer{}",
                                 end.exit_code, last_words(end.errors))};
  std::string failure = answer["failure"];
  // What the library says of it is the name of a type.
  constexpr std::string_view type = "std::bad_alloc";
  if (const std::size_t at = failure.find(type); at != failure.npos)
    failure.replace(at, type.size(), "memory ran out");
  if (cell.memory_limit_bytes > 0 && memory_ran_out(failure))
    return {nullptr, fmt::format("it exceeded its --memory-limit of {}: {}", limit, failure)};
  return {nullptr, failure};
}

RunOutcome execute(const Suite& suite, RunFolder& folder) { return Execution(suite, folder).run(); }

}  // namespace shardmark
