// How do the stand-in's collectives work? Each rank's call is enqueued on its stream; there the
// streams of all ranks meet, compare what they were asked for, compute, and meet again.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <nccl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "machine.hpp"
#include "runtime.hpp"

namespace {

namespace standin = shardmark::standin;

// Of the GPU, taken at the first call of each verb: as NCCL 2.22 and later connect ranks.
constexpr std::size_t connection_bytes = 1 << 20;
constexpr int verbs = 3;

struct Asked {
  enum class Verb { all_reduce, reduce_scatter, all_gather } verb{};
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  ncclDataType_t type{};
  ncclRedOp_t op{};
  bool same_as(const Asked& o) const {
    return verb == o.verb && count == o.count && type == o.type && op == o.op;
  }
};

// Ranks that were given the same unique id.
struct Group {
  explicit Group(int n) : ranks(n), asked(static_cast<std::size_t>(n)) {}
  int ranks;
  std::vector<Asked> asked;
  std::mutex mutex;
  std::condition_variable changed;
  int here = 0, rounds = 0, joined = 0;
  ncclResult_t error = ncclSuccess;  // an abort of one rank leaves the others to their own

  // false: a rank has gone, or this one gives up.
  bool meet(const std::atomic<bool>& aborted) {
    std::unique_lock lock(mutex);
    const int round = rounds;
    if (++here == ranks) {
      here = 0;
      ++rounds;
      changed.notify_all();
      return true;
    }
    changed.wait(lock, [&] { return rounds != round || aborted; });
    return rounds != round;
  }
};

struct Groups {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Group>> by_id;
};
Groups& groups() {
  static Groups all;
  return all;
}

double at(const void* p, std::size_t i, ncclDataType_t t) {
  switch (t) {
    case ncclFloat64:
      return static_cast<const double*>(p)[i];
    case ncclFloat32:
      return static_cast<double>(static_cast<const float*>(p)[i]);
    case ncclBfloat16:
      return static_cast<double>(__bfloat162float(static_cast<const __nv_bfloat16*>(p)[i]));
    default:
      return static_cast<double>(__half2float(static_cast<const __half*>(p)[i]));
  }
}

void put(void* p, std::size_t i, ncclDataType_t t, double x) {
  switch (t) {
    case ncclFloat64:
      static_cast<double*>(p)[i] = x;
      break;
    case ncclFloat32:
      static_cast<float*>(p)[i] = static_cast<float>(x);
      break;
    case ncclBfloat16:
      static_cast<__nv_bfloat16*>(p)[i] = __float2bfloat16_rn(static_cast<float>(x));
      break;
    default:
      static_cast<__half*>(p)[i] = __float2half_rn(static_cast<float>(x));
  }
}

std::size_t size_of(ncclDataType_t t) {
  return t == ncclFloat64                        ? 8
         : t == ncclFloat32 || t == ncclInt32    ? 4
         : t == ncclBfloat16 || t == ncclFloat16 ? 2
                                                 : 1;
}

}  // namespace

struct StandinComm {
  std::shared_ptr<Group> group;
  int rank = 0;
  void* connected[verbs] = {};  // memory for each verb that was called
  // Of its own, since calls on streams may come after an abort.
  std::shared_ptr<std::atomic<bool>> aborted = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<std::atomic<int>> under_way = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<std::atomic<int>> error = std::make_shared<std::atomic<int>>(ncclSuccess);
};

namespace {

// As NCCL does it, a mean is a sum of products with 1/N, which is rounded to the type before.
double reduced(const Group& g, std::size_t i, const Asked& how) {
  double sum = 0, part = 1;
  if (how.op == ncclAvg) {
    alignas(8) unsigned char rounded[8];
    put(rounded, 0, how.type, 1.0 / g.ranks);
    part = at(rounded, 0, how.type);
  }
  for (const Asked& a : g.asked) sum += at(a.from, i, how.type) * part;
  return sum;
}

// Between the meetings.
void compute(Group& g, int rank, const Asked& mine, std::vector<double>& sums) {
  const auto r = static_cast<std::size_t>(rank);
  if (mine.verb == Asked::Verb::all_gather) {
    for (std::size_t peer = 0; peer < g.asked.size(); ++peer) {
      const std::size_t bytes = mine.count * size_of(mine.type);
      std::memmove(static_cast<char*>(mine.to) + peer * bytes, g.asked[peer].from, bytes);
    }
    return;
  }
  const std::size_t first = mine.verb == Asked::Verb::reduce_scatter ? r * mine.count : 0;
  for (std::size_t i = 0; i < mine.count; ++i) sums.push_back(reduced(g, first + i, mine));
}

void run(Group& g, int rank, const Asked& mine, const std::atomic<bool>& aborted,
         std::atomic<int>& error) {
  g.asked[static_cast<std::size_t>(rank)] = mine;
  if (!g.meet(aborted)) return;
  for (const Asked& other : g.asked)
    if (!other.same_as(mine)) error = ncclInvalidUsage;
  std::vector<double> sums;
  if (error == ncclSuccess) compute(g, rank, mine, sums);
  if (!g.meet(aborted)) return;  // all have read; now sums may be put where others read from
  for (std::size_t i = 0; i < sums.size(); ++i) put(mine.to, i, mine.type, sums[i]);
  g.meet(aborted);
}

// Also where the call waits for room until an abort ends it, and its communicator with it.
ncclResult_t enqueue(ncclComm_t c, cudaStream_t s, const Asked& asked) {
  if (!c || !asked.from || !asked.to) return ncclInvalidArgument;
  void*& connected = c->connected[static_cast<int>(asked.verb)];
  if (!connected && shardmark::standin::take_memory(&connected, connection_bytes))
    return ncclUnhandledCudaError;
  auto task = [group = c->group, rank = c->rank, asked, aborted = c->aborted, error = c->error,
               under_way = c->under_way] {
    run(*group, rank, asked, *aborted, *error);
    --*under_way;
  };
  const auto aborted = c->aborted;
  const auto under_way = c->under_way;
  while (*under_way >= standin::machine().queue && !*aborted)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ++*under_way;
  standin::enqueue(s, {.name = "ncclDevKernel"}, task);
  return ncclSuccess;
}

bool all_are_here(const StandinComm& c) {
  const std::lock_guard lock(groups().mutex);
  return c.group->joined == c.group->ranks;
}

}  // namespace

const char* ncclGetLastError(ncclComm_t) { return ""; }
const char* ncclGetErrorString(ncclResult_t r) {
  switch (r) {
    case ncclSuccess:
      return "no error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "remote process exited or there was a network error";
  }
}
ncclResult_t ncclGetVersion(int* v) { return *v = 22809, ncclSuccess; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> made{0};
  std::memset(id, 0, sizeof *id);
  const int number = ++made;
  std::memcpy(id->internal, &number, sizeof number);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* c, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (rank < 0 || rank >= ranks) return ncclInvalidArgument;
  Groups& all = groups();
  std::unique_lock lock(all.mutex);
  auto& known = all.by_id[std::string(id.internal, sizeof id.internal)];
  std::shared_ptr<Group> group = known.lock();
  if (!group) known = group = std::make_shared<Group>(ranks);
  if (group->ranks != ranks) return ncclInvalidUsage;
  if (config->blocking != 1) return ncclInvalidArgument;  // calls return at once: nobody asks so
  ++group->joined;
  lock.unlock();
  auto made = std::make_unique<StandinComm>(StandinComm{.group = group, .rank = rank});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!all_are_here(*made)) {
    if (std::chrono::steady_clock::now() > deadline) return ncclSystemError;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  *c = made.release();
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t* r) {
  if (!c) return ncclInvalidArgument;
  *r = static_cast<ncclResult_t>(c->error->load());
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t c) {
  {
    const std::lock_guard lock(c->group->mutex);
    *c->aborted = true;
  }
  c->group->changed.notify_all();
  for (void* memory : c->connected) cudaFree(memory);
  delete c;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t t,
                           ncclRedOp_t op, ncclComm_t c, cudaStream_t s) {
  return enqueue(c, s, {Asked::Verb::all_reduce, from, to, count, t, op});
}
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t t,
                               ncclRedOp_t op, ncclComm_t c, cudaStream_t s) {
  return enqueue(c, s, {Asked::Verb::reduce_scatter, from, to, count, t, op});
}
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t t,
                           ncclComm_t c, cudaStream_t s) {
  return enqueue(c, s, {Asked::Verb::all_gather, from, to, count, t, ncclSum});
}
