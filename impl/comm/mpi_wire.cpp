#include "impl/comm/mpi_wire.hpp"

#include <fmt/format.h>

#include <limits>

#include "kernels/cpu/math.hpp"
#include "profilers/timeline.hpp"

namespace shardmark::mpi {
namespace {

constexpr int tag = 1;

void* pointer(ConstView v) { return reinterpret_cast<void*>(v.address()); }

// MPI 4 knows no 2-byte floating-point type: to it they are numbers that we add.
MPI_Datatype type_of(DType t) {
  switch (t) {
    case DType::f64:
      return MPI_DOUBLE;
    case DType::f32:
      return MPI_FLOAT;
    case DType::i32:
      return MPI_INT32_T;
    case DType::bf16:
    case DType::f16:
      return MPI_UINT16_T;
    case DType::u8:
      break;
  }
  throw Error("MPI's collectives do not add " + std::string(name(t)));
}

// inout += in, in f32, rounded.
template <DType t>
void add_two_bytes(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto view = [count](void* at) {
    return View(reinterpret_cast<std::uintptr_t>(at), static_cast<std::size_t>(*count), t,
                Space::host);
  };
  const ConstView both[] = {view(in), view(inout)};
  cpu::reduce_ranks(both, view(inout), 1.0);
}

int count_of(std::size_t n) {
  require(n <= static_cast<std::size_t>(std::numeric_limits<int>::max()),
          "MPI counts in 32 bits, and this array has more of what it counts");
  return static_cast<int>(n);
}

}  // namespace

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(fmt::format("{} failed: {}", call, text));
}

MpiTransport::MpiTransport(MPI_Comm comm) : comm_(comm) {
  int rank = 0, size = 1;
  MPI_Comm_rank(comm_, &rank);
  MPI_Comm_size(comm_, &size);
  next_ = (rank + 1) % size;
  before_ = (rank + size - 1) % size;
}

void MpiTransport::send(ConstView v) {
  MPI_Request& request = sends_.emplace_back();
  check(MPI_Isend(pointer(v), count_of(v.bytes()), MPI_BYTE, next_, tag, comm_, &request),
        "MPI_Isend");
  moved_ += v.bytes();
}

void MpiTransport::receive(View v) {
  Incoming& in = receives_.emplace_back();
  in.bytes = v.bytes();
  check(MPI_Irecv(pointer(v), count_of(v.bytes()), MPI_BYTE, before_, tag, comm_, &in.request),
        "MPI_Irecv");
}

std::uint64_t MpiTransport::sent() {
  for (int done = 1; !sends_.empty() && done;) {
    check(MPI_Test(&sends_.front(), &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (!done) break;
    sends_.pop_front();
    ++sent_;
  }
  return sent_;
}

std::uint64_t MpiTransport::received() {
  for (int done = 1; !receives_.empty() && done;) {
    MPI_Status status;
    check(MPI_Test(&receives_.front().request, &done, &status), "MPI_Test");
    if (!done) break;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    require(static_cast<std::size_t>(bytes) == receives_.front().bytes,
            fmt::format("ranks disagree on what to do: a message of {} bytes came where one of {} "
                        "was expected",
                        bytes, receives_.front().bytes));
    receives_.pop_front();
    ++received_;
  }
  return received_;
}

void MpiTransport::rest(std::int64_t until_ns) { mpi::rest(until_ns); }

void rest(std::int64_t until_ns) {
  if (const std::int64_t ns = until_ns - now_ns(); ns > 0)
    std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
  else
    std::this_thread::yield();
}

Watchdog::Watchdog(double timeout_s, Late late)
    : timeout_s_(timeout_s), late_(std::move(late)), thread_([this] { watch(); }) {}

Watchdog::Watchdog(World& w, double timeout_s)
    : timeout_s_(timeout_s),
      late_([&w, timeout_s](const char* call) {
        w.fail({w.rank(), fmt::format("waited more than {} s for its peers in {} ({})", timeout_s,
                                      call, w.last_words())});
      }),
      activity_(&w.activity()),
      thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  over_.notify_all();
  thread_.join();
}

void Watchdog::enter(const char* call) {
  ++calls_;
  call_ = call;
}

void Watchdog::leave() {
  call_ = nullptr;
  if (activity_) activity_->stop_waiting();
}

void Watchdog::watch() {
  constexpr std::int64_t tick_ns = 100'000'000;
  std::unique_lock lock(mutex_);
  std::uint64_t seen = 0;
  for (std::int64_t waited = 0; !stop_;) {
    over_.wait_for(lock, std::chrono::nanoseconds(tick_ns), [this] { return stop_; });
    const char* call = call_;
    waited = call && seen == calls_ ? waited + tick_ns : 0;
    seen = calls_;
    if (call && activity_) activity_->waited_ns = waited;
    if (static_cast<double>(waited) * 1e-9 <= timeout_s_) continue;
    lock.unlock();
    late_(call);
    return;
  }
}

LibraryCommunicator::LibraryCommunicator(Device& d, World& w, MPI_Comm comm, double timeout_s)
    : HostCommunicator(d, w, Collectives::library), comm_(comm), watchdog_(w, timeout_s) {
  const int commutes = 1;
  check(MPI_Op_create(add_two_bytes<DType::bf16>, commutes, &add_bf16_), "MPI_Op_create");
  check(MPI_Op_create(add_two_bytes<DType::f16>, commutes, &add_f16_), "MPI_Op_create");
}

LibraryCommunicator::~LibraryCommunicator() {
  MPI_Op_free(&add_bf16_);
  MPI_Op_free(&add_f16_);
}

MPI_Op LibraryCommunicator::sum_of(DType t) const {
  return t == DType::bf16 ? add_bf16_ : t == DType::f16 ? add_f16_ : MPI_SUM;
}

void LibraryCommunicator::all_reduce_here(View inout, Reduce::Op op) {
  watchdog_.enter("MPI_Allreduce");
  check(MPI_Allreduce(MPI_IN_PLACE, pointer(inout), count_of(inout.size()), type_of(inout.dtype()),
                      sum_of(inout.dtype()), comm_),
        "MPI_Allreduce");
  watchdog_.leave();
  const ConstView sum[] = {inout};
  if (op == Reduce::Op::mean) cpu::reduce_ranks(sum, inout, 1.0 / ranks());
}

void LibraryCommunicator::reduce_scatter_here(View whole, View mine, Reduce::Op op) {
  // MPI lets no output lie inside of the input, but for in place: then the part comes first.
  const bool inside =
      mine.address() >= whole.address() && mine.address() < whole.address() + whole.bytes();
  const View to = inside ? whole.slice({0, mine.size()}) : mine;
  const std::vector<int> counts(static_cast<std::size_t>(ranks()), count_of(mine.size()));
  watchdog_.enter("MPI_Reduce_scatter");
  check(MPI_Reduce_scatter(inside ? MPI_IN_PLACE : pointer(whole),
                           inside ? pointer(whole) : pointer(mine), counts.data(),
                           type_of(whole.dtype()), sum_of(whole.dtype()), comm_),
        "MPI_Reduce_scatter");
  watchdog_.leave();
  const ConstView sum[] = {to};
  if (op == Reduce::Op::mean) cpu::reduce_ranks(sum, to, 1.0 / ranks());
  if (to.address() != mine.address()) cpu::stream_copy(to, mine);
}

void LibraryCommunicator::all_gather_here(ConstView mine, View whole) {
  const View part = whole.slice({static_cast<std::size_t>(rank()) * mine.size(), mine.size()});
  const bool inside = mine.address() == part.address();
  watchdog_.enter("MPI_Allgather");
  check(MPI_Allgather(inside ? MPI_IN_PLACE : pointer(mine), inside ? 0 : count_of(mine.bytes()),
                      inside ? MPI_DATATYPE_NULL : MPI_BYTE, pointer(whole), count_of(mine.bytes()),
                      MPI_BYTE, comm_),
        "MPI_Allgather");
  watchdog_.leave();
}

}  // namespace shardmark::mpi
