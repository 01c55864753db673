// What does the process of one measurement of collectives do? See collectives_execute.hpp.
#include "bench/collectives_execute.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "bench/collectives_measure.hpp"
#include "bench/execute.hpp"
#include "bench/link_text.hpp"
#include "bench/process.hpp"
#include "bench/rank_process.hpp"
#include "impl/comm/interface.hpp"
#include "impl/comm/thread_ranks.hpp"
#include "kernels/cpu/cores.hpp"
#include "kernels/cpu/device.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

// A rank that only waited for one that had failed says no more than that.
void throw_first_failure(const std::vector<std::string>& said) {
  std::size_t chosen = said.size();
  for (std::size_t r = 0; r < said.size(); ++r) {
    if (said[r].empty()) continue;
    const bool echo = said[r].starts_with("rank ") && said[r].find(" failed: ") != said[r].npos;
    if (chosen == said.size() || !echo) chosen = r;
    if (!echo) break;
  }
  if (chosen == said.size()) return;
  if (said[chosen].starts_with("rank ")) throw Error(said[chosen]);
  throw Error(fmt::format("rank {} failed: {}", chosen, said[chosen]));
}

constexpr const char* command = "shardmark collectives-cell";

CollectivesCell cell_in(const std::string& file) {
  const json given = cell_text(command, file);
  if (!is_collectives_cell(given))
    throw InputError(fmt::format("{}: {} is no cell of collectives.", command,
                                 file == "-" ? "standard input" : file));
  return collectives_cell_from_json(given);
}

// This process is one rank of the job; all ranks call it, and rank 0 gets the sections. A rank that
// fails says so, and the job is aborted.
json sections_in(const RankJob& job, const CollectivesCell& cell) {
  const int ranks = static_cast<int>(cell.ranks);
  // A group holds one communicator at a time, so each algorithm has a group of its own.
  std::vector<std::unique_ptr<mpi::Group>> groups;
  for (std::size_t a = 0; a < cell.collectives.size(); ++a)
    groups.push_back(job.session.group(ranks, cell.comm_timeout_s, job.sink));
  mpi::Group& world = *groups.front();
  const RankWatch::Watching watching = job.watch.watch(world, job.say);
  try {
    const bool a_core_each = world.ranks_on_this_host() <= world.cores_on_this_host();
    CpuOptions options;
    options.overlap = false;
    options.owner.rank = world.rank();
    options.record = false;
    options.spin_ns = spin_ns(world.ranks_on_this_host(), world.cores_on_this_host());
    options.poll = [&world] { world.check(); };
    CpuDevice device(options);
    const auto link = link_of("a cell's \"link\"", cell.link);
    std::vector<std::unique_ptr<Communicator>> made;
    MeasuringRank rank{world, device, {}};
    for (std::size_t a = 0; a < cell.collectives.size(); ++a) {
      made.push_back(groups[a]->communicator(device, collectives_named(cell.collectives[a]), link,
                                             cell.comm_timeout_s, a_core_each));
      rank.algorithms.push_back(made.back().get());
    }
    const auto measured = measure_collectives(cell, rank);
    device.drain();
    const auto crowded = world.gather(a_core_each ? "" : "crowded");
    return {{"collectives", collectives_section(cell, measured)},
            {"hosts", world.gather(host_name())},
            {"oversubscribed", std::count(crowded.begin(), crowded.end(), "crowded") > 0}};
  } catch (const std::exception& e) {
    world.fail({world.rank(), std::string("its measurement: ") + e.what()});
    throw;
  }
}

// Rank 0 has the cell, as with a training's.
json measured_as_rank(const std::string& file, const RankJob& job) {
  const std::string text = job.shared([&] {
    const CollectivesCell cell = cell_in(file);
    if (cell.comm != "mpi" || cell.ranks != job.session.size())
      throw InputError(
          fmt::format("{}: the cell is for {} {} ranks, and a launcher started {} "
                      "processes.",
                      command, cell.ranks, cell.comm, job.session.size()));
    return to_json(cell).dump();
  });
  return {{"sections", sections_in(job, collectives_cell_from_json(json::parse(text)))}};
}

}  // namespace

json collectives_on_threads(const CollectivesCell& cell) {
  ThreadRanks how;
  how.ranks = static_cast<int>(cell.ranks);
  how.collectives = collectives_named(cell.collectives.front());
  how.link = link_of("a cell's \"link\"", cell.link);
  how.timeout_s = cell.comm_timeout_s;
  Measured measured;
  throw_first_failure(run_on_threads(how, [&](const Rank& rank) {
    MeasuringRank r{rank.world, rank.device, {&rank.comm}};
    std::vector<std::unique_ptr<Communicator>> others;
    for (std::size_t a = 1; a < cell.collectives.size(); ++a) {
      others.push_back(thread_communicator(rank.device, dynamic_cast<ThreadWorld&>(rank.world),
                                           collectives_named(cell.collectives[a]),
                                           Options::AllReduce::composed, how.link));
      r.algorithms.push_back(others.back().get());
    }
    auto mine = measure_collectives(cell, r);
    if (rank.world.rank() == 0) measured = std::move(mine);
  }));
  return collectives_section(cell, measured);
}

int execute_collectives_cell(const std::string& file) {
  if (mpi::launched())
    return rank_process([&](const RankJob& job) { return measured_as_rank(file, job); });
  const CollectivesCell cell = cell_in(file);
  die_with_parent();
  int code = 0;
  try {
    if (cell.comm != "thread") throw InputError("MPI ranks need a launcher, such as mpirun");
    const std::vector<std::string> hosts(static_cast<std::size_t>(cell.ranks), host_name());
    print_line({{"sections", {{"collectives", collectives_on_threads(cell)}, {"hosts", hosts}}}});
  } catch (const std::bad_alloc&) {
    print_line({{"failure", "memory ran out"}});
    code = 1;
  } catch (const std::exception& e) {
    print_line({{"failure", e.what()}});
    code = 1;
  }
  if (code != 0) ::_exit(code);  // a rank that is stuck would keep the process
  return 0;
}

}  // namespace shardmark
