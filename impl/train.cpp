#include "impl/train.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "impl/comm/gpu_thread.hpp"
#include "impl/comm/nccl.hpp"
#include "impl/comm/ring.hpp"
#include "impl/comm/thread_ranks.hpp"
#include "impl/devices.hpp"
#include "impl/dry_run.hpp"
#include "impl/inject.hpp"
#include "impl/models/registry.hpp"
#include "impl/rank_run.hpp"
#include "impl/report_bytes.hpp"
#include "kernels/cpu/cores.hpp"
#include "kernels/cpu/math.hpp"

namespace shardmark {
namespace {

// What all threads of a run share; owned by each of them, since a thread that is stuck is left
// behind.
struct SharedRun {
  Job job;
  ThreadHub hub;
  std::vector<RankReport> reports;
  GpuRecorders recorders;
  // Peers read each other's memory: none is freed before the last rank's queues have ended.
  std::vector<std::unique_ptr<ThreadWorld>> worlds;
  std::vector<std::unique_ptr<RankRun>> runs;

  std::mutex mutex;
  std::condition_variable ended;
  int running = 0;

  explicit SharedRun(const Training& t)
      : job(t),
        hub(t.ranks, t.comm_timeout_s, spin_ns(t, t.ranks, usable_cores())),
        reports(static_cast<std::size_t>(t.ranks)),
        recorders(t, t.ranks),
        worlds(reports.size()),
        runs(reports.size()),
        running(t.ranks) {}
};

void ended(SharedRun& shared, int ranks) {
  const std::lock_guard lock(shared.mutex);
  shared.running -= ranks;
  shared.ended.notify_all();
}

std::unique_ptr<Communicator> communicator_of_threads(Device& d, ThreadWorld& w,
                                                      const Training& t) {
  if (t.options.collectives == Collectives::nccl)
    return nccl::communicator(d, w, nccl::RanksAre::threads, t.comm_timeout_s);
  if (t.device == DeviceKind::cuda) return std::make_unique<GpuThreadCommunicator>(d, w);
  return thread_communicator(d, w, t.options.collectives, t.options.all_reduce, t.link);
}

void run_rank(const std::shared_ptr<SharedRun>& shared, int rank) {
  try {
    const auto at = static_cast<std::size_t>(rank);
    const Training& t = shared->job.training;
    auto& world = shared->worlds[at] = std::make_unique<ThreadWorld>(shared->hub, rank);
    const auto communicator = [&](Device& d) { return communicator_of_threads(d, *world, t); };
    auto& run = shared->runs[at] =
        std::make_unique<RankRun>(shared->job, *world, rank, communicator, shared->hub.spin_ns(),
                                  shared->recorders, shared->reports[at]);
    run->run();
  } catch (const std::exception& e) {
    shared->hub.fail({rank, std::string("set-up: ") + e.what()});
  }
  ended(*shared, 1);
}

// Where a thread cannot be started, the ranks that run are told, and those that do not count as
// ended.
std::vector<std::thread> start(const std::shared_ptr<SharedRun>& shared) {
  std::vector<std::thread> threads;
  const int ranks = shared->job.training.ranks;
  threads.reserve(static_cast<std::size_t>(ranks));
  try {
    for (int r = 0; r < ranks; ++r) threads.emplace_back(run_rank, shared, r);
  } catch (const std::system_error& e) {
    const int started = static_cast<int>(threads.size());
    shared->hub.fail(
        {started, fmt::format("set-up: its thread could not be started ({})", e.what())});
    ended(*shared, ranks - started);
  }
  return threads;
}

// Waits for all ranks; once one has failed, the others get two seconds to notice.
bool wait_for_all(SharedRun& shared) {
  std::unique_lock lock(shared.mutex);
  const auto all_ended = [&] { return shared.running == 0; };
  while (!shared.ended.wait_for(lock, std::chrono::milliseconds(100), all_ended))
    if (shared.hub.failure())
      return shared.ended.wait_for(lock, std::chrono::seconds(2), all_ended);
  return true;
}

Claim claim_of(const StrategyEntry& e, const Layout& l, const Architecture& a, const Training& t) {
  Claim c = e.claim(l, t.options);
  if (t.options.collectives == Collectives::ring) RingCommunicator::claim(c, l.ranks());
  Model::claim(c, a, t.options, [&t](const Op& op) { return scratch_bytes(t, op); });
  return c;
}

}  // namespace

Claims claims_of(const Training& t) {
  return claims_of(t, make_architecture(t.model, t.sequence, t.batch));
}

Claims claims_of(const Training& given, const Architecture& a) {
  Training t = given;
  t.options.steps = steps_of(t);
  const StrategyEntry& entry = strategy_entry(t.strategy);
  const Layout layout(a, t.options, t.ranks, 0, entry.by_unit), ideal = layout.textbook();
  const Claim exact = claim_of(entry, layout, a, t), textbook = claim_of(entry, ideal, a, t);
  Claims out;
  out.textbook = textbook.bytes;
  out.exact = exact.bytes;
  out.formula = textbook.formula;
  for (const auto& [what, c] : exact.calls)
    out.exact_calls[what] = {static_cast<std::uint64_t>(c.calls),
                             static_cast<std::uint64_t>(c.payload),
                             static_cast<std::uint64_t>(c.volume)};
  for (const auto& [what, c] : textbook.calls) out.textbook_calls[what] = {c.payload, c.volume};
  out.parameters = a.parameter_count();
  out.trainable = static_cast<std::size_t>(ideal.elements(Form::whole, Which::trainable));
  out.kept_whole = layout.kept_whole();
  out.padding_elements =
      static_cast<std::size_t>(layout.elements(Form::whole, Which::all)) - out.parameters;
  return out;
}

namespace {

TrainingReport report_of(const Job& job, std::vector<RankReport> ranks) {
  const Training& t = job.training;
  TrainingReport out;
  out.ranks = std::move(ranks);
  out.claims = claims_of(t);
  std::uint64_t calls = 0;
  for (const auto& [what, traffic] : out.claims.exact_calls) calls += traffic.calls;
  // Every access is held against all others: half a second at so many.
  out.order_checked = calls <= 2000;
  if (out.order_checked) out.disorder = first_violation(t, t.ranks - 1);
  out.flops_per_step = flops_of(job.architecture, t.options) * t.options.accumulate;
  out.tokens_per_step =
      job.architecture.rows * static_cast<std::size_t>(t.ranks * t.options.accumulate);
  for (const RankReport& r : out.ranks) {
    out.resident_before_bytes += r.resident_before_bytes;
    out.resident_peak_bytes += r.resident_peak_bytes;
  }
  return out;
}

// What the user got wrong is not a rank's failure. ranks_here: of this process.
void check_input(const Training& t, int ranks_here) {
  require(!t.profile || t.record_time, "what is profiled is recorded");
  require(!t.time_ops || !t.overlap, "ops are timed where one queue runs them");
  for (int r = 0; r < t.ranks; ++r) injection(t.inject, r);
  cpu::instruction_set();
  check_device(t, ranks_here);
  if (!t.interface.empty()) sent_by(t.interface);
}

}  // namespace

TrainingReport train(const Training& t) {
  const std::uint64_t before = process_status_bytes("VmRSS");
  check_input(t, t.ranks);
  if (t.device == DeviceKind::cuda && t.options.collectives == Collectives::memory)
    cuda::let_read_each_other(std::min(t.ranks, static_cast<int>(cuda::gpus().size())));
  const auto shared = std::make_shared<SharedRun>(t);
  std::vector<std::thread> threads = start(shared);
  const bool all_ended = wait_for_all(*shared);
  for (std::thread& thread : threads) all_ended ? thread.join() : thread.detach();
  if (const auto f = shared->hub.failure())
    throw Error(fmt::format("rank {} failed at {}{}", f->rank, f->what,
                            all_ended ? "" : "; a rank that is stuck was left behind"));
  std::vector<RankReport> reports = std::move(shared->reports);
  for (RankReport& r : reports)  // one process: the last rank to look has seen the most
    reports[0].resident_peak_bytes =
        std::max(reports[0].resident_peak_bytes, std::exchange(r.resident_peak_bytes, 0));
  reports[0].resident_before_bytes = before;
  return report_of(shared->job, std::move(reports));
}

namespace {

// Of this rank among those on its host.
int place_in(mpi::Group& group) {
  const std::vector<std::string> hosts = group.gather(host_name());
  const auto me = hosts.begin() + group.rank();
  return static_cast<int>(std::count(hosts.begin(), me, *me));
}

}  // namespace

TrainingReport train(const Training& t, mpi::Group& group) {
  RankReport mine;
  mine.resident_before_bytes = process_status_bytes("VmRSS");
  check_input(t, 1);
  require(group.size() == t.ranks, "the group has another number of ranks than the training");
  const int place = place_in(group);
  check_own_gpu(t, group, place);
  const Job job(t);
  const std::int64_t spin = spin_ns(t, group.ranks_on_this_host(), group.cores_on_this_host());
  GpuRecorders recorders(t, 1);
  RankRun run(
      job, group, place,
      [&](Device& d) {
        if (t.options.collectives == Collectives::nccl)
          return nccl::communicator(d, group, nccl::RanksAre::processes, t.comm_timeout_s);
        return group.communicator(d, t.options.collectives, t.link, t.comm_timeout_s, spin > 0);
      },
      spin, recorders, mine);
  run.run();
  std::vector<RankReport> reports;
  for (const std::string& bytes : group.gather(packed(mine))) reports.push_back(unpacked(bytes));
  TrainingReport out = report_of(job, std::move(reports));
  out.clocks_comparable = group.one_clock();
  return out;
}

}  // namespace shardmark
