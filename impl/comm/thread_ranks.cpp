#include "impl/comm/thread_ranks.hpp"

#include <fmt/format.h>

#include <thread>

#include "impl/comm/ring.hpp"
#include "kernels/cpu/cores.hpp"
#include "kernels/cpu/device.hpp"

namespace shardmark {
namespace {

// One rank: what it has must live until no peer reads it any more.
class OneRank {
 public:
  OneRank(const ThreadRanks& how, ThreadHub& hub, int rank)
      : world_(hub, rank),
        device_(options(how, hub, world_)),
        comm_(thread_communicator(device_, world_, how.collectives, how.all_reduce, how.link)) {}

  std::string run(const std::function<void(const Rank&)>& body) {
    std::string said;
    try {
      body(Rank{world_, *comm_, device_});
      device_.drain();
    } catch (const std::exception& e) {
      said = e.what();
      if (!dynamic_cast<const PeerFailed*>(&e)) world_.fail({world_.rank(), said});
    }
    device_.stop();
    return said;
  }

 private:
  static CpuOptions options(const ThreadRanks& how, ThreadHub& hub, ThreadWorld& world) {
    CpuOptions o;
    o.overlap = how.overlap;
    o.owner.rank = world.rank();
    o.spin_ns = hub.spin_ns();
    o.poll = [&hub] { hub.check(); };
    o.on_error = [&world](std::exception_ptr e) {
      try {
        std::rethrow_exception(e);
      } catch (const PeerFailed&) {
      } catch (const std::exception& what) {
        world.fail({world.rank(), what.what()});
      }
    };
    return o;
  }

  ThreadWorld world_;
  CpuDevice device_;
  std::unique_ptr<Communicator> comm_;
};

}  // namespace

std::unique_ptr<Communicator> thread_communicator(Device& d, ThreadWorld& w, Collectives made_by,
                                                  Options::AllReduce all_reduce,
                                                  std::optional<Link> link) {
  if (made_by == Collectives::library)
    throw InputError("thread ranks have no library of collectives; they may use memory or ring");
  if (made_by == Collectives::memory) {
    if (link) throw InputError("a link carries messages: it needs the collectives of the ring");
    return std::make_unique<ThreadCommunicator>(d, w, all_reduce);
  }
  return RingCommunicator::over(std::make_unique<ThreadTransport>(w.hub().post(), w.rank()), link,
                                d, w, w.hub().timeout_s(), w.hub().spin_ns());
}

std::vector<std::string> run_on_threads(const ThreadRanks& how,
                                        const std::function<void(const Rank&)>& body) {
  const int threads_in_all = how.ranks * (how.overlap ? 2 : 1);
  ThreadHub hub(how.ranks, how.timeout_s, spin_ns(threads_in_all, usable_cores()));
  std::vector<std::string> said(static_cast<std::size_t>(how.ranks));
  std::vector<std::unique_ptr<OneRank>> ranks(said.size());
  std::vector<std::thread> threads;
  const auto run = [&](int r) {
    const auto at = static_cast<std::size_t>(r);
    try {
      ranks[at] = std::make_unique<OneRank>(how, hub, r);
      said[at] = ranks[at]->run(body);
    } catch (const std::exception& e) {
      said[at] = e.what();
      hub.fail({r, said[at]});
    }
  };
  try {
    for (int r = 0; r < how.ranks; ++r) threads.emplace_back(run, r);
  } catch (const std::system_error& e) {  // those that run are told
    const std::size_t started = threads.size();
    said[started] = fmt::format("its thread could not be started ({})", e.what());
    hub.fail({static_cast<int>(started), said[started]});
  }
  for (std::thread& t : threads) t.join();
  return said;
}

}  // namespace shardmark
