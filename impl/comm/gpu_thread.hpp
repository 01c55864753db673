#pragma once
// How do threads whose arrays are in GPU memory exchange them? As ThreadCommunicator, but the host
// waits for nothing on a GPU: ranks tell each other where their arrays are and behind which mark of
// their stream, and each stream waits for its peers' marks. So N ranks may share one GPU, or read
// each other's over NVLink and PCIe.
#include "impl/comm/communicator.hpp"
#include "impl/comm/thread.hpp"
#include "kernels/cuda/device.hpp"

namespace shardmark {

inline constexpr int most_gpu_threads = std::tuple_size_v<decltype(SumRanks::from)>;

class GpuThreadCommunicator final : public Communicator {
 public:
  GpuThreadCommunicator(Device&, ThreadWorld&);
  // What it enqueues is arithmetic of its own; nobody outside of it sees what streams move.
  std::uint64_t moved_bytes() const override { return 0; }
  std::string_view moved_witness() const override { return ""; }

 private:
  void do_all_reduce(View inout, Reduce::Op, int label) override;
  void do_reduce_scatter(View whole, View mine, Reduce::Op, int label) override;
  void do_all_gather(ConstView mine, View whole, int label) override;

  void enter(Verb, ConstView, int label);  // behind it, all arrays may be read
  void leave();                            // behind it, nobody reads mine any more
  void all_wait_for_all();
  ConstView theirs(int rank, Range, ConstView like) const;
  void reduce_part(View to, Range, ConstView like, Reduce::Op);
  void copy_part(int rank, Range in_theirs, View to);

  ThreadWorld& world_;
  std::uint64_t round_ = 0;
};

}  // namespace shardmark
