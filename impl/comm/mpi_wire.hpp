#pragma once
// How do ranks that are processes exchange arrays? Messages to neighbours for our ring, or the
// library's own collectives.
#include <mpi.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "impl/comm/host.hpp"
#include "impl/comm/transport.hpp"

namespace shardmark::mpi {

void check(int code, const char* call);  // throws Error with the library's own words

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(MPI_Comm);  // of its own: nobody else's messages are on it
  void send(ConstView) override;
  void receive(View) override;
  std::uint64_t sent() override;
  std::uint64_t received() override;
  void rest(std::int64_t until_ns) override;
  std::uint64_t moved_bytes() const override { return moved_; }

 private:
  struct Incoming {
    MPI_Request request;
    std::size_t bytes;
  };
  MPI_Comm comm_;
  int next_ = 0, before_ = 0;
  std::deque<MPI_Request> sends_;
  std::deque<Incoming> receives_;
  std::uint64_t sent_ = 0, received_ = 0, moved_ = 0;
};

void rest(std::int64_t until_ns);  // asleep, or where that is past, letting others run

// Looks from outside at blocking calls, in which nothing can be asked: late() where one takes too
// long. A process that was stopped in between has not waited.
class Watchdog {
 public:
  using Late = std::function<void(const char* call)>;
  Watchdog(double timeout_s, Late);
  Watchdog(World&, double timeout_s);  // the world fails
  ~Watchdog();
  void enter(const char* call);
  void leave();

 private:
  void watch();
  double timeout_s_;
  Late late_;
  Activity* activity_ = nullptr;
  std::atomic<const char*> call_{nullptr};
  std::atomic<std::uint64_t> calls_{0};
  std::mutex mutex_;
  std::condition_variable over_;
  bool stop_ = false;
  std::thread thread_;
};

// MPI_Allreduce, MPI_Reduce_scatter, MPI_Allgather. The mean is the library's sum, divided here.
class LibraryCommunicator final : public HostCommunicator {
 public:
  LibraryCommunicator(Device&, World&, MPI_Comm, double timeout_s);
  ~LibraryCommunicator() override;
  std::uint64_t moved_bytes() const override { return 0; }
  std::string_view moved_witness() const override { return ""; }  // what it moves, it keeps

 private:
  void all_reduce_here(View inout, Reduce::Op) override;
  void reduce_scatter_here(View whole, View mine, Reduce::Op) override;
  void all_gather_here(ConstView mine, View whole) override;

  MPI_Op sum_of(DType) const;

  MPI_Comm comm_;
  MPI_Op add_bf16_ = MPI_OP_NULL, add_f16_ = MPI_OP_NULL;
  Watchdog watchdog_;
};

}  // namespace shardmark::mpi
