// What does `shardmark collectives` do with its flags? See collectives.hpp.
#include "bench/collectives.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "bench/collectives_table.hpp"
#include "bench/isolated.hpp"
#include "bench/launcher.hpp"
#include "bench/link_text.hpp"
#include "bench/machine.hpp"
#include "bench/measured.hpp"
#include "bench/progress.hpp"
#include "bench/runner.hpp"
#include "bench/self_checks.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"
#include "kernels/cpu/cores.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

Launch launch_of(const CollectivesCell& c) { return {c.launcher, c.ranks, 1, ""}; }

// Of a training's cell, what the end of its process is judged by.
Cell limits_of(const CollectivesCell& c) {
  Cell limits;
  limits.timeout_s = c.timeout_s;
  return limits;
}

class Campaign {
 public:
  Campaign(const std::vector<CollectivesCell>& cells, std::int64_t rounds, RunFolder& folder,
           const std::map<std::string, Where>& where, Interrupts& interrupts)
      : cells_(cells),
        rounds_(rounds),
        folder_(folder),
        where_(where),
        interrupts_(interrupts),
        machine_(machine()) {}

  // Every round measures every cell once, in an order of its own.
  std::vector<json> run() {
    std::vector<std::string> ids;
    std::vector<std::pair<std::int64_t, std::size_t>> tasks;
    for (std::int64_t round = 1; round <= rounds_; ++round)
      for (const std::size_t cell : order_of(cells_.size(), cells_.front().seed, round)) {
        ids.push_back(id_of(cells_[cell]));
        tasks.emplace_back(round, cell);
      }
    Progress progress(std::move(ids), rounds_);
    std::vector<json> records;
    for (std::size_t i = 0; i < tasks.size() && !interrupts_.seen(); ++i) {
      const auto [round, cell] = tasks[i];
      progress.starts(id_of(cells_[cell]), round);
      json record = envelope(cells_[cell], round, static_cast<std::int64_t>(i % cells_.size()) + 1);
      if (!measure(cells_[cell], record)) break;
      folder_.writer->append(record);
      progress.ended(record);
      records.push_back(std::move(record));
    }
    return records;
  }

 private:
  json envelope(const CollectivesCell& c, std::int64_t round, std::int64_t position) const {
    json r = {{"schema_version", schema_version},
              {"kind", collectives_kind},
              {"run", folder_.id},
              {"suite", "collectives"},
              {"round", round},
              {"round_seed", c.seed},
              {"position", position},
              {"started_utc", utc("%Y-%m-%dT%H:%M:%SZ")},
              {"machine", machine_},
              {"cell", to_json(c)},
              {"status", "ok"},
              {"reason", ""},
              {"isolation", "process"},
              {"oversubscribed", c.ranks > usable_cores()}};  // ranks of MPI say it themselves
    r.update(emulated_link(link_of("a cell's \"link\"", c.link)));
    for (const char* key : {"commit", "commit_reason", "dirty", "dirty_reason"})
      if (machine_.contains(key)) r[key] = machine_[key];
    return r;
  }

  // false: interrupted, so there is nothing to record.
  bool measure(const CollectivesCell& c, json& record) {
    const std::string input = to_json(c).dump();
    const ProcessEnd end =
        c.comm == "mpi"
            ? run_launched(launch_of(c), where_.at(c.launcher), {"collectives-cell", "-"}, input,
                           c.timeout_s, interrupts_)
            : run_self({"shardmark", "collectives-cell", "-"}, input, {c.timeout_s}, interrupts_);
    if (end.how != ProcessEnd::How::exited && interrupts_.seen()) return false;
    record["wall_ns"] = end.wall_ns;
    const Answer answer =
        c.comm == "mpi" ? answer_of_ranks(c.ranks, c.timeout_s, end) : answer_of(limits_of(c), end);
    if (answer.failure.empty()) {
      record.update(answer.sections);
    } else {
      record["status"] = "failed";
      record["reason"] = answer.failure;
      for (const char* key : {"collectives", "hosts"}) set_missing(record, key, answer.failure);
    }
    return true;
  }

  const std::vector<CollectivesCell>& cells_;
  std::int64_t rounds_;
  RunFolder& folder_;
  const std::map<std::string, Where>& where_;
  Interrupts& interrupts_;
  json machine_;
};

json plan_of(const std::vector<CollectivesCell>& cells, std::int64_t rounds) {
  json all = json::array();
  for (const CollectivesCell& c : cells) all.push_back(to_json(c));
  return {{"suite", "collectives"}, {"rounds", rounds}, {"cells", all}};
}

// Nobody asked for MPI ranks, and nothing would start them: threads alone are measured then.
std::string only_what_can_start(CollectivesFlags& given) {
  const auto named = given.find("--collectives");
  const bool asked = given.count("--comm") > 0 || given.count("--launcher") > 0 ||
                     (named != given.end() && named->second.find("library") != std::string::npos);
  if (asked || !mpi::built() || in_path("mpirun")) return "";
  given["--comm"] = "thread";
  return "there is no mpirun in PATH, so that thread ranks alone are measured; install Open MPI "
         "(openmpi-bin), or name another launcher with --launcher.";
}

}  // namespace

int collectives_verdict(const std::vector<json>& records) {
  std::uint64_t wrong = 0;
  bool failed = false;
  for (const json& r : records) {
    if (text_at(r, "status") == "ok")
      wrong += r["collectives"]["wrong_elements"].get<std::uint64_t>();
    else
      failed = true;
  }
  if (wrong > 0) fmt::print("Results are wrong: {} elements in all.\n", grouped(wrong));
  return wrong > 0 || failed || records.empty() ? 1 : 0;
}

int collectives_command(const CollectivesArguments& a) {
  CollectivesFlags given = a.given;
  const std::string note = only_what_can_start(given);
  const std::vector<CollectivesCell> cells = collectives_cells(given);
  const std::int64_t rounds = a.rounds.empty() ? 1 : whole_number("--rounds", a.rounds, 1, 10'000);
  if (mpi::launched())
    throw InputError(
        "shardmark collectives starts its ranks itself; leave mpirun or srun away, or say how by "
        "--comm mpi --launcher \"srun -n {ranks}\".");
  Interrupts interrupts;
  std::vector<Launch> launches;
  for (const CollectivesCell& c : cells)
    if (c.comm == "mpi") launches.push_back(launch_of(c));
  const auto where = preflight(launches, interrupts);
  if (interrupts.seen()) {
    fmt::print(stderr, "shardmark: interrupted before anything was measured; nothing is written\n");
    return 128 + interrupts.signal();
  }
  if (!note.empty()) fmt::print(stderr, "shardmark: {}\n", note);
  RunFolder folder =
      create_run(a.out.empty() ? std::nullopt : std::optional<std::filesystem::path>(a.out),
                 "collectives", collectives_kind, plan_of(cells, rounds));
  const std::vector<json> records = Campaign(cells, rounds, folder, where, interrupts).run();
  if (!records.empty()) fmt::print("{}", collectives_table(records));
  fmt::print("\nRecords: {}\n", (folder.path / "records.jsonl").string());
  const int code = collectives_verdict(records);
  return interrupts.seen() ? 128 + interrupts.signal() : code;
}

}  // namespace shardmark
