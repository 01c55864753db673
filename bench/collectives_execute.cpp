// What does the process of one measurement of collectives do? See collectives_execute.hpp.
#include "bench/collectives_execute.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <new>

#include "bench/collectives_measure.hpp"
#include "bench/last_words.hpp"
#include "bench/link_text.hpp"
#include "bench/process.hpp"
#include "bench/rank_watch.hpp"
#include "bench/text.hpp"
#include "impl/comm/interface.hpp"
#include "impl/comm/mpi.hpp"
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

void say(const json& line) {
  const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

json cell_text(const std::string& file) {
  const std::string text = file == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {})
                                       : read_whole_file("shardmark collectives-cell", file);
  json parsed = json::parse(text, nullptr, false);
  if (!is_collectives_cell(parsed))
    throw InputError(fmt::format("shardmark collectives-cell: {} is no cell of collectives.",
                                 file == "-" ? "standard input" : file));
  return parsed;
}

// This process is one rank of the session; the first cell.ranks of them call it, and all get the
// same. A rank that fails says so, and the job is aborted.
json sections_in(mpi::Session& session, RankWatch& watch, const CollectivesCell& cell) {
  const auto sink = [](const Failure& f) { say(failure_line(f)); };
  const int ranks = static_cast<int>(cell.ranks);
  // A group holds one communicator at a time, so each algorithm has a group of its own.
  std::vector<std::unique_ptr<mpi::Group>> groups;
  for (std::size_t a = 0; a < cell.collectives.size(); ++a)
    groups.push_back(session.group(ranks, cell.comm_timeout_s, sink));
  mpi::Group& world = *groups.front();
  const RankWatch::Watching watching = watch.watch(world, say);
  try {
    const bool a_core_each = world.ranks_on_this_host() <= world.cores_on_this_host();
    CpuOptions options;
    options.overlap = false;
    options.record = false;
    options.spin_ns = a_core_each ? 50'000 : 0;
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
    return {{"collectives", collectives_section(cell, measured)},
            {"hosts", world.gather(host_name())}};
  } catch (const std::exception& e) {
    world.fail({world.rank(), std::string("its measurement: ") + e.what()});
    throw;
  }
}

// Only the first rank has a standard input.
int as_one_rank(const std::string& file) {
  RankWatch watch;  // before MPI starts threads
  mpi::Session session;
  std::string text;
  if (session.rank() == 0) {
    try {
      text = to_json(collectives_cell_from_json(cell_text(file))).dump();
    } catch (const std::exception& e) {
      say({{"failure", e.what()}});
      session.abort(2);
    }
    if (session.size() > 1) session.tell(text);
  } else {
    text = session.listen();
  }
  const CollectivesCell cell = collectives_cell_from_json(json::parse(text));
  if (session.rank() >= cell.ranks) return 0;
  const json sections = sections_in(session, watch, cell);
  if (session.rank() == 0) say({{"sections", sections}});
  return 0;
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
  if (mpi::launched()) return as_one_rank(file);
  const CollectivesCell cell = collectives_cell_from_json(cell_text(file));
  die_with_parent();
  int code = 0;
  try {
    if (cell.comm != "thread") throw InputError("MPI ranks need a launcher, such as mpirun");
    const std::vector<std::string> hosts(static_cast<std::size_t>(cell.ranks), host_name());
    say({{"sections", {{"collectives", collectives_on_threads(cell)}, {"hosts", hosts}}}});
  } catch (const std::bad_alloc&) {
    say({{"failure", "memory ran out"}});
    code = 1;
  } catch (const std::exception& e) {
    say({{"failure", e.what()}});
    code = 1;
  }
  if (code != 0) ::_exit(code);  // a rank that is stuck would keep the process
  return 0;
}

}  // namespace shardmark
