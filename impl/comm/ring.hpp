#pragma once
// How does an array go once around? Reduce-scatter and all-gather on a ring (Patarasuk and Yuan
// 2009), all-reduce as the two of them, pipelined: an array is cut into N parts, a part into
// chunks, and a chunk is passed on as soon as it is here, while others are on their way.
#include <memory>
#include <optional>

#include "impl/claim.hpp"
#include "impl/comm/host.hpp"
#include "impl/comm/link.hpp"
#include "impl/comm/transport.hpp"

namespace shardmark {

struct RingOptions {
  std::size_t chunk_bytes = 256 << 10;
  std::size_t window = 8;  // messages that a rank has places for
  std::size_t ahead = 8;   // messages that it has sent and that have not come
  double timeout_s = 60;
  std::int64_t patience_ns = 0;  // how long a wait stays awake before it naps
};

class RingCommunicator final : public HostCommunicator {
 public:
  RingCommunicator(Device&, World&, std::unique_ptr<Transport>, RingOptions = {});
  std::uint64_t moved_bytes() const override { return transport_->moved_bytes(); }
  std::string_view moved_witness() const override {
    return "chunks that the ring handed to its transport";
  }
  // The ring over a transport, behind a link where there is one.
  static std::unique_ptr<Communicator> over(std::unique_ptr<Transport>, std::optional<Link>,
                                            Device&, World&, double timeout_s,
                                            std::int64_t patience_ns);
  // The landing places of chunks that are still to be added.
  static std::size_t landing_bytes(int ranks, const RingOptions& = {});
  static void claim(Claim&, int ranks, RingOptions = {});

 private:
  // In round s of a turn rank r sends part first - s and receives part first - 1 - s. N - 1 rounds
  // that add are a reduce-scatter, N - 1 that do not an all-gather, and one behind the other an
  // all-reduce: the part that has been added up last is the one to send first.
  struct Turn {
    View whole;        // N parts, as part_of() cuts them
    int first;         // part that this rank sends first
    int adding;        // rounds in which what comes is added to what is here
    int rounds;        // all of them
    View last;         // where the part that is added up last goes; empty: into whole
    double factor;     // of its sum
    std::string what;  // for the sentence when a peer does not come
  };
  void all_reduce_here(View inout, Reduce::Op) override;
  void reduce_scatter_here(View whole, View mine, Reduce::Op) override;
  void all_gather_here(ConstView mine, View whole) override;

  void turn(const Turn&);
  double factor(Reduce::Op op) const { return op == Reduce::Op::mean ? 1.0 / ranks() : 1.0; }
  class Pipeline;

  std::unique_ptr<Transport> transport_;
  RingOptions options_;
  Buffer landing_;
};

}  // namespace shardmark
