#pragma once
// How do ranks exchange arrays? Verbs on views. What is public is checked, counted, cast and
// spanned once for all backends; a verb's event means that no peer reads or writes my views any
// more.
#include "impl/options.hpp"
#include "kernels/device.hpp"

namespace shardmark {

// sum or mean over ranks, in rank order where they read each other's memory; the array travels as
// `wire`; the result is set, or added to what is there.
struct Reduce {
  enum class Op : std::uint8_t { sum, mean } op = Op::sum;
  DType wire = DType::f32;
  enum class Write : std::uint8_t { set, add } write = Write::set;
};

// Part `rank` of an array that N ranks share, for any count: parts differ by one element at most.
Range part_of(std::size_t elements, int ranks, int rank);

// Bytes that a verb on `elements` of type t must send from this rank. Reduce-scatter: all but my
// part; all-gather: my part to each peer (memory), or all but the next rank's part (ring);
// all-reduce: both. With equal parts that is (N-1)/N, (N-1)/N and 2(N-1)/N of the payload, however
// it is made (Patarasuk and Yuan 2009). What a library does inside is not known: the ring's count.
std::uint64_t volume_bytes(Verb, std::size_t elements, DType t, int ranks, int rank,
                           Collectives = Collectives::memory);

class Communicator {
 public:
  Communicator(Device& d, int ranks, int rank, Collectives made_by = Collectives::memory)
      : device_(d), ranks_(ranks), rank_(rank), made_by_(made_by) {}
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int ranks() const { return ranks_; }
  int rank() const { return rank_; }

  // inout: the same size on every rank, any count. label: the segment, for timeline and messages.
  Event all_reduce(View inout, Reduce, int label, Event after);
  // whole: N times mine, scratch afterwards; mine may be my part of whole.
  Event reduce_scatter(View whole, View mine, Reduce, int label, Event after);
  // whole: N times mine, of its type; mine may be my part of whole.
  Event all_gather(ConstView mine, View whole, int label, Event after);

  const TrafficLedger& traffic() const { return traffic_; }
  virtual std::uint64_t moved_bytes() const = 0;  // what the transport itself saw leave this rank
  virtual std::string_view moved_witness() const = 0;  // empty: nobody counted

 protected:
  Device& device() const { return device_; }

 private:
  // Each enqueues one op on the communication queue.
  virtual void do_all_reduce(View inout, Reduce::Op, int label) = 0;
  virtual void do_reduce_scatter(View whole, View mine, Reduce::Op, int label) = 0;
  virtual void do_all_gather(ConstView mine, View whole, int label) = 0;
  void count(Verb, ConstView whole);
  Buffer cast_to_wire(View whole, DType wire);
  void write_back(ConstView from, View to, Reduce::Write);

  Device& device_;
  int ranks_, rank_;
  Collectives made_by_;
  TrafficLedger traffic_;
};

}  // namespace shardmark
