// What does the process of one cell do? See execute.hpp.
#include "bench/execute.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <new>

#include "bench/measured.hpp"
#include "bench/process.hpp"
#include "bench/profiles.hpp"
#include "bench/rank_process.hpp"
#include "bench/text.hpp"
#include "bench/traces.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

constexpr const char* command = "shardmark cell";

// A limit of data counts the stacks of threads whole, touched or not; they are not what the user
// means by memory. ranks: of this process.
std::uint64_t stacks_bytes(const Cell& c, std::int64_t ranks) {
  rlimit stack{};
  ::getrlimit(RLIMIT_STACK, &stack);
  const std::uint64_t one = stack.rlim_cur == RLIM_INFINITY ? 8u << 20 : stack.rlim_cur;
  return one * static_cast<std::uint64_t>(ranks * (c.threads_per_rank + 2) + 2);
}

// The parent looks every few milliseconds; what came and went in between is known here.
void check_resident(const Cell& c, std::uint64_t peak) {
  if (c.memory_limit_bytes > 0 && peak > c.memory_limit_bytes)
    throw Error(fmt::format("memory ran out: {} bytes were resident at the peak", peak));
}

json section_of(const Text& c) {
  return {{"name", c.name}, {"size_bytes", c.bytes.size()}, {"fnv1a64", hex16(c.hash)}};
}

json trained(const Cell& cell) {
  Text corpus = load_text(cell.data);
  validate(cell, corpus.bytes.size(), corpus.largest());
  json about = section_of(corpus);
  if (cell.memory_limit_bytes > 0)
    limit_allocation(cell.memory_limit_bytes + stacks_bytes(cell, cell.ranks));
  Training training = training_of(cell, std::move(corpus.bytes));
  training.rate_products = true;
  const Trained all = trained(training, [](const Training& t) { return train(t); });
  check_resident(cell, all.report.resident_peak_bytes);
  json sections = sections_of(training, all.report);
  add_traces(cell, training, all.report, sections);
  add_profile(training, all, sections);
  sections["corpus"] = std::move(about);
  return {{"sections", std::move(sections)}};
}

// Rank 0 has the cell, on its standard input or in a file; the others hear of it.
json trained_as_rank(const std::string& file, const RankJob& job) {
  const std::string text = job.shared([&] {
    const json given = cell_text(command, file);
    const Cell cell = cell_from_json(given);
    if (!of_processes(cell) || cell.ranks != job.session.size())
      throw InputError(fmt::format(
          "shardmark cell: the cell is for {} {} ranks, and a launcher started {} processes.",
          cell.ranks, cell.comm, job.session.size()));
    const Text corpus = load_text(cell.data);
    validate(cell, corpus.bytes.size(), corpus.largest());
    return given.dump();
  });
  const Cell cell = cell_from_json(json::parse(text));
  const auto group = job.session.group(job.session.size(), cell.comm_timeout_s, job.sink);
  const auto watching = job.watch.watch(*group, job.say);
  return {{"sections", trained(cell, *group, true)}};
}

// What earlier cells of this process had resident is not this one's: their memory goes back, and
// the system's mark of the most starts anew. false: the system has no such mark to set.
bool starts_anew() {
  ::malloc_trim(0);
  std::ofstream mark("/proc/self/clear_refs");
  mark << "5" << std::flush;
  return mark.good();
}

// On any rank; all get the same.
bool on_any(mpi::Group& group, bool mine) {
  const auto all = group.gather(mine ? "1" : "0");
  return std::find(all.begin(), all.end(), "1") != all.end();
}

}  // namespace

json cell_text(const std::string& who, const std::string& file) {
  const std::string text = file == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {})
                                       : read_whole_file(who, file);
  json parsed = json::parse(text, nullptr, false);
  if (parsed.is_discarded())
    throw InputError(
        fmt::format("{}: {} is not JSON.", who, file == "-" ? "standard input" : file));
  return parsed;
}

json trained(const Cell& cell, mpi::Group& group, bool own_process) {
  const bool own_peak = own_process || starts_anew();
  Text corpus = load_text(cell.data);
  json about = section_of(corpus);
  limit_allocation(cell.memory_limit_bytes == 0 ? 0
                                                : cell.memory_limit_bytes + stacks_bytes(cell, 1));
  Training training = training_of(cell, std::move(corpus.bytes));
  training.rate_products = true;
  const Trained all = trained(training, [&group](const Training& t) { return train(t, group); });
  const TrainingReport& report = all.report;
  if (own_peak)
    check_resident(cell, report.ranks[static_cast<std::size_t>(group.rank())].resident_peak_bytes);
  const bool others_peak = on_any(group, !own_peak);
  const bool crowded =
      on_any(group, oversubscribed(cell, static_cast<unsigned>(group.cores_on_this_host()),
                                   group.ranks_on_this_host()));
  // One rank's figures are everybody's: the report is the same.
  if (group.rank() != 0) return nullptr;
  json sections = sections_of(training, report);
  add_traces(cell, training, report, sections);
  add_profile(training, all, sections);
  if (others_peak)
    forget_resident(
        sections,
        "other cells ran in the same processes before, and the system does not let them "
        "forget how much was resident then");
  sections["oversubscribed"] = crowded;
  sections["corpus"] = std::move(about);
  return sections;
}

int execute_cell(const std::string& file) {
  if (mpi::launched())
    return rank_process([&](const RankJob& job) { return trained_as_rank(file, job); });
  const Cell cell = cell_from_json(cell_text(command, file));
  if (of_processes(cell))
    throw InputError(fmt::format(
        "shardmark cell: the cell's ranks are processes; start it as so many: mpirun -n {} "
        "shardmark cell {}",
        cell.ranks, file));
  die_with_parent();
  json answer;
  int code = 1;
  try {
    answer = trained(cell);
    code = 0;
  } catch (const InputError& e) {
    answer = {{"failure", e.what()}};
    code = 2;
  } catch (const std::bad_alloc&) {
    answer = {{"failure", "memory ran out"}};
  } catch (const std::exception& e) {
    answer = {{"failure", e.what()}};
  }
  print_line(answer);
  if (code != 0) ::_exit(code);
  return 0;
}

}  // namespace shardmark
