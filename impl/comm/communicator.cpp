#include "impl/comm/communicator.hpp"

namespace shardmark {

Range part_of(std::size_t elements, int ranks, int rank) {
  const auto n = static_cast<std::size_t>(ranks), r = static_cast<std::size_t>(rank);
  const std::size_t share = elements / n, rest = elements % n;
  return {r * share + std::min(r, rest), share + (r < rest ? 1 : 0)};
}

std::uint64_t volume_bytes(Verb verb, std::size_t elements, DType t, int ranks, int rank,
                           Collectives made_by) {
  const std::size_t mine = part_of(elements, ranks, rank).size;
  const std::size_t scatter = elements - mine;
  const std::size_t gather = made_by == Collectives::memory
                                 ? mine * static_cast<std::size_t>(ranks - 1)
                                 : elements - part_of(elements, ranks, (rank + 1) % ranks).size;
  switch (verb) {
    case Verb::reduce_scatter:
      return scatter * size_of(t);
    case Verb::all_gather:
      return gather * size_of(t);
    case Verb::all_reduce:
      return (scatter + gather) * size_of(t);
    case Verb::broadcast:
    case Verb::barrier:
      break;
  }
  return 0;
}

namespace {

Collective carried(Verb verb, ConstView whole) { return {verb, whole.dtype(), whole.size()}; }

}  // namespace

Event Communicator::all_reduce(View inout, Reduce how, int label, Event after) {
  Buffer staged = cast_to_wire(inout, how.wire);
  const View wire = staged.view() ? staged.view() : inout;
  require(how.write == Reduce::Write::set,
          "all_reduce overwrites: adding would count the old value N times");
  count(Verb::all_reduce, wire);
  Span span = device_.comm().begin(Phase::reduce, label, after, carried(Verb::all_reduce, wire));
  if (staged.view()) device_.comm().run(Cast{inout, wire});
  do_all_reduce(wire, how.op, label);
  write_back(wire, inout, how.write);
  const Event done = span.end();
  staged.give_back(done);
  return done;
}

Event Communicator::reduce_scatter(View whole, View mine, Reduce how, int label, Event after) {
  require(whole.size() == mine.size() * static_cast<std::size_t>(ranks_),
          "reduce_scatter: whole must be ranks times mine");
  Buffer staged = cast_to_wire(whole, how.wire);
  const View wire = staged.view() ? staged.view() : whole;
  const View part = wire.slice({static_cast<std::size_t>(rank_) * mine.size(), mine.size()});
  count(Verb::reduce_scatter, wire);
  Span span =
      device_.comm().begin(Phase::reduce, label, after, carried(Verb::reduce_scatter, wire));
  if (staged.view()) device_.comm().run(Cast{whole, wire});
  // Straight into place where nothing is left to be done behind it.
  const bool direct = how.write == Reduce::Write::set && mine.dtype() == wire.dtype();
  do_reduce_scatter(wire, direct ? mine : part, how.op, label);
  if (!direct) write_back(part, mine, how.write);
  const Event done = span.end();
  staged.give_back(done);
  return done;
}

Event Communicator::all_gather(ConstView mine, View whole, int label, Event after) {
  require(whole.size() == mine.size() * static_cast<std::size_t>(ranks_),
          "all_gather: whole must be ranks times mine");
  require(whole.dtype() == mine.dtype(), "all_gather: whole and mine must be of one type");
  count(Verb::all_gather, whole);
  Span span = device_.comm().begin(Phase::gather, label, after, carried(Verb::all_gather, whole));
  do_all_gather(mine, whole, label);
  return span.end();
}

void Communicator::count(Verb verb, ConstView whole) {
  Traffic& t = traffic_[{verb, whole.dtype()}];
  ++t.calls;
  t.payload += whole.bytes();
  t.volume += volume_bytes(verb, whole.size(), whole.dtype(), ranks_, rank_, made_by_);
}

Buffer Communicator::cast_to_wire(View whole, DType wire) {
  if (whole.dtype() == wire) return {};
  return device_.memory().alloc(whole.size(), wire, Tag::staging, device_.comm());
}

void Communicator::write_back(ConstView from, View to, Reduce::Write write) {
  if (from.address() == to.address()) return;
  if (write == Reduce::Write::add)
    device_.comm().run(Add{from, to});
  else
    device_.comm().run(Cast{from, to});
}

}  // namespace shardmark
