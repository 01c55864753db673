#pragma once
// What does a verb cost where nothing moves? The communicator of the dry device: right in order,
// bytes and calls, any N.
#include "impl/comm/communicator.hpp"

namespace shardmark {

class DryCommunicator final : public Communicator {
 public:
  using Communicator::Communicator;
  std::uint64_t moved_bytes() const override { return 0; }
  std::string_view moved_witness() const override { return "none"; }

 private:
  void do_all_reduce(View inout, Reduce::Op, int) override {
    run(Verb::all_reduce, inout, inout, {});
  }
  void do_reduce_scatter(View whole, View mine, Reduce::Op, int) override {
    run(Verb::reduce_scatter, whole, whole, mine);  // whole is scratch: other backends may write it
  }
  void do_all_gather(ConstView mine, View whole, int) override {
    run(Verb::all_gather, mine, whole, {});
  }
  void run(Verb verb, ConstView from, View to, View also) {
    const std::size_t elements = std::max(from.size(), to.size());
    const double volume =
        static_cast<double>(volume_bytes(verb, elements, to.dtype(), ranks(), rank()));
    device().comm().run(Transfer{from, to, also, volume, {}, {verb, to.dtype(), elements}});
  }
};

}  // namespace shardmark
