// How is a suite executed? See runner.hpp.
#include "bench/runner.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <random>
#include <set>

#include "bench/last_words.hpp"
#include "bench/machine.hpp"
#include "bench/measured.hpp"
#include "bench/progress.hpp"
#include "bench/record.hpp"
#include "bench/run_folder.hpp"
#include "bench/traces.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

constexpr const char* sections[] = {"hosts", "corpus",  "time",     "timeline", "steady", "rates",
                                    "bytes", "traffic", "training", "resident", "checks"};

struct Task {
  std::size_t cell;
  std::int64_t round, position;
};

// A record without results.
void set_empty(json& r, const char* status, const std::string& why) {
  r["status"] = status;
  r["reason"] = why;
  for (const char* key : sections) {
    r[key] = nullptr;
    r[std::string(key) + "_reason"] = why;
  }
}

class Execution {
 public:
  Execution(const Suite& suite, RunFolder& folder, CellRunner& runner)
      : suite_(suite), folder_(folder), runner_(runner), machine_(machine()) {
    for (const Cell& c : suite.cells) cells_.push_back(to_json(c));
    for (json& r : latest(read_records(folder.path).records)) {
      if (text_at(r, "status") == "started") end_of_started(r);
      if (text_at(r, "status") == "ok") recorded_.insert({r["cell"].dump(), r["round"]});
    }
    forget_last_words(folder.path);
  }

  RunOutcome run() {
    const std::vector<Task> tasks = open_tasks();
    std::vector<std::string> ids;
    for (const Task& t : tasks) ids.push_back(cells_[t.cell]["id"]);
    Progress progress(std::move(ids), suite_.run.rounds);
    for (const Task& t : tasks) {
      progress.starts(cells_[t.cell]["id"], t.round);
      if (const auto record = record_of(t)) {
        folder_.writer->append(*record);
        progress.ended(*record);
      }
      if (const int signal = runner_.interrupted_by()) return {signal};
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

  // The job died with the cell in it: it is not tried again at once, or nothing behind it would
  // ever run; but it is where somebody ended the job, and the cell had no part in that.
  void end_of_started(json& r) {
    const std::int64_t round = r["round"], ranks = r["cell"]["ranks"];
    const bool asked = all_were_asked_to_end(folder_.path, id_at(r), round, ranks);
    set_empty(r, asked ? "skipped" : "failed",
              asked ? "the job was asked to end while it ran"
                    : why_it_ended(folder_.path, id_at(r), round, ranks));
    r["wall_ns_reason"] = "nobody saw the end of the job";
    folder_.writer->append(r);
    if (asked) return;
    recorded_.insert({r["cell"].dump(), round});
    for (std::size_t i = 0; i < cells_.size(); ++i)
      if (cells_[i] == r["cell"]) failed_[i] = fmt::format("it failed in round {}", round);
  }

  json begun(const Task& t) const {
    const auto cores = static_cast<unsigned>(runner_.cores());
    json r = {{"schema_version", schema_version},
              {"run", folder_.id},
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
              {"isolation", runner_.isolates() ? "process" : "none"},
              {"oversubscribed", oversubscribed(suite_.cells[t.cell], cores)}};
    r.update(emulated_link(training_of(suite_.cells[t.cell], {}).link));
    set_commit(r);
    return r;
  }

  // None where the run was interrupted before the cell had ended by itself.
  std::optional<json> record_of(const Task& t) {
    json r = begun(t);
    if (const auto failed = failed_.find(t.cell); failed != failed_.end()) {
      set_empty(r, "skipped", failed->second);
      return r;
    }
    if (!runner_.isolates()) {
      json started = r;
      const char* why = "it had not ended when this line was written";
      set_empty(started, "started", why);
      started["wall_ns"] = nullptr;
      started["wall_ns_reason"] = why;
      folder_.writer->append(started);
    }
    auto ended = runner_.run(suite_.cells[t.cell], {folder_.path, t.round});
    if (!ended) return std::nullopt;
    r["wall_ns"] = ended->wall_ns;
    if (ended->failure.empty()) {
      r.update(ended->sections);  // where ranks are processes, oversubscribed is among them
      write_traces(folder_.path, r);
    } else {
      set_empty(r, "failed", ended->failure);
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

  const Suite& suite_;
  RunFolder& folder_;
  CellRunner& runner_;
  json machine_;
  std::vector<json> cells_;
  std::set<std::pair<std::string, std::int64_t>> recorded_;  // cell, round
  std::map<std::size_t, std::string> failed_;                // cell: why it is skipped from now on
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

RunOutcome execute(const Suite& suite, RunFolder& folder, CellRunner& runner) {
  return Execution(suite, folder, runner).run();
}

}  // namespace shardmark
