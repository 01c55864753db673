#include "impl/comm/ring.hpp"

#include "impl/comm/link_transport.hpp"
#include "kernels/cpu/math.hpp"

namespace shardmark {

constexpr std::size_t least_chunk_bytes = 8 << 10;

// The messages of one turn are numbered in the order in which they leave: message i is chunk i % C
// of round i / C. A message of a later round can leave once the same chunk of the round before it
// has come, so message i waits for i - C. Every rank numbers alike, and what one sends as i, the
// next receives as i. Chunks without elements (fewer elements than ranks) are not sent.
class RingCommunicator::Pipeline {
 public:
  Pipeline(RingCommunicator& r, const Turn& t)
      : transport_(*r.transport_),
        options_(r.options_),
        landing_(r.landing_.view()),
        turn_(t),
        ranks_(r.ranks()),
        sent_before_(transport_.sent()),
        received_before_(transport_.received()) {
    const std::size_t part = part_of(t.whole.size(), ranks_, 0).size;  // none is larger
    // A small part is cut as well, so that adding and sending overlap.
    const std::size_t size = size_of(t.whole.dtype());
    const std::size_t chunk =
        std::clamp(part * size / 4, least_chunk_bytes, options_.chunk_bytes) / size;
    chunks_ = std::max<std::size_t>(1, (part + chunk - 1) / chunk);
    messages_ = chunks_ * static_cast<std::size_t>(t.rounds);
    added_ = chunks_ * static_cast<std::size_t>(t.adding);
  }

  bool done() const { return taken_ == messages_ && left_ == messages_; }

  // Moves on what can move; false if nothing did.
  bool advance() {
    const bool listens = listen(), takes = take(), sends = send(), leaves = leave();
    return listens || takes || sends || leaves;
  }

 private:
  // part: that is sent as message i, or received (the one before it in the ring).
  View chunk(std::size_t i, bool received) const {
    const int round = static_cast<int>(i / chunks_);
    const int part = ((turn_.first - round - (received ? 1 : 0)) % ranks_ + ranks_) % ranks_;
    const Range whole = part_of(turn_.whole.size(), ranks_, part);
    const Range piece =
        part_of(whole.size, static_cast<int>(chunks_), static_cast<int>(i % chunks_));
    return turn_.whole.slice({whole.begin + piece.begin, piece.size});
  }
  View landing(std::size_t i) const {
    const View here = chunk(i, true);
    const std::size_t slot = i % options_.window * options_.chunk_bytes;
    return View(landing_.address() + slot, here.size(), here.dtype(), here.space());
  }

  // A part that comes back whole overwrites what this rank sent of it N - 1 rounds before: not
  // before that has left.
  bool listen() {
    bool any = false;
    for (; listening_ < messages_ && listening_ < taken_ + options_.window; ++listening_) {
      const bool adds = listening_ < added_;
      if (!adds && turn_.adding > 0 && left_ <= listening_ - added_) break;
      if (const View to = adds ? landing(listening_) : chunk(listening_, true))
        transport_.receive(to);
      any = true;
    }
    return any;
  }

  // What has come is put to use, in order.
  bool take() {
    const std::uint64_t here = transport_.received() - received_before_;
    bool any = false;
    for (; taken_ < listening_; ++taken_) {
      const View own = chunk(taken_, true);
      if (own) {
        if (used_ == here) break;
        ++used_;
        if (taken_ < added_) add(own);
      }
      any = true;
    }
    return any;
  }

  void add(View own) {
    const bool last = taken_ >= added_ - chunks_;
    View to = own;
    if (last && turn_.last) {
      const std::size_t begin = (own.address() - part_address()) / size_of(own.dtype());
      to = turn_.last.slice({begin, own.size()});
    }
    const ConstView both[] = {landing(taken_), own};
    cpu::reduce_ranks(both, to, last ? turn_.factor : 1.0);
  }
  std::uintptr_t part_address() const {  // of the part that is added up last
    const int part = ((turn_.first - turn_.adding) % ranks_ + ranks_) % ranks_;
    return turn_.whole.slice(part_of(turn_.whole.size(), ranks_, part)).address();
  }

  bool send() {
    bool any = false;
    for (; next_ < messages_ && next_ < left_ + options_.ahead; ++next_) {
      if (next_ >= chunks_ && next_ - chunks_ >= taken_) break;
      if (const View out = chunk(next_, false)) transport_.send(out);
      any = true;
    }
    return any;
  }

  bool leave() {
    const std::uint64_t gone = transport_.sent() - sent_before_;
    bool any = false;
    for (; left_ < next_; ++left_) {
      if (chunk(left_, false)) {
        if (gone_ == gone) break;
        ++gone_;
      }
      any = true;
    }
    return any;
  }

  Transport& transport_;
  const RingOptions& options_;
  View landing_;
  const Turn& turn_;
  int ranks_;
  std::size_t chunks_ = 1, messages_ = 0, added_ = 0;
  // How many messages, empty ones included: sent, and gone from here; listened for, and put to use.
  std::size_t next_ = 0, left_ = 0, listening_ = 0, taken_ = 0;
  std::uint64_t gone_ = 0, used_ = 0;  // without the empty ones
  std::uint64_t sent_before_, received_before_;
};

std::size_t RingCommunicator::landing_bytes(int ranks, const RingOptions& o) {
  return ranks > 1 ? o.chunk_bytes * o.window : 0;
}

RingCommunicator::RingCommunicator(Device& d, World& w, std::unique_ptr<Transport> t, RingOptions o)
    : HostCommunicator(d, w, Collectives::ring), transport_(std::move(t)), options_(o) {
  require(o.chunk_bytes >= least_chunk_bytes && o.window >= 1 && o.ahead >= 1,
          "a ring needs chunks of at least 8 KiB and a window for one of them");
  if (const std::size_t bytes = landing_bytes(ranks(), o))
    landing_ = d.memory().alloc(bytes, DType::u8, Tag::workspace, d.comm());
}

std::unique_ptr<Communicator> RingCommunicator::over(std::unique_ptr<Transport> transport,
                                                     std::optional<Link> link, Device& d, World& w,
                                                     double timeout_s, std::int64_t patience_ns) {
  RingOptions o;
  o.timeout_s = timeout_s;
  o.patience_ns = patience_ns;
  if (link) {
    transport = std::make_unique<LinkTransport>(std::move(transport), *link);
    // As many messages as the link carries at once when it is full, and the window behind them.
    const double full_bytes = link->bytes_per_ns * static_cast<double>(link->latency_ns);
    o.ahead = o.window + static_cast<std::size_t>(full_bytes / static_cast<double>(o.chunk_bytes));
  }
  return std::make_unique<RingCommunicator>(d, w, std::move(transport), o);
}

void RingCommunicator::claim(Claim& c, int ranks, RingOptions o) {
  c.hold(Tag::workspace, DType::u8, static_cast<double>(landing_bytes(ranks, o)));
}

void RingCommunicator::turn(const Turn& t) {
  if (ranks() == 1 || t.whole.size() == 0) return;
  Pipeline pipeline(*this, t);
  Wait wait(world(), options_.timeout_s, t.what);
  while (!pipeline.done()) {
    if (pipeline.advance())
      wait.progressed();
    else
      transport_->rest(wait.rest_until(options_.patience_ns));
  }
}

// A part is added up on its way around and ends at its owner: so its first sender is the next rank.
void RingCommunicator::reduce_scatter_here(View whole, View mine, Reduce::Op op) {
  const View part = whole.slice(part_of(whole.size(), ranks(), rank()));
  const bool inside = mine.address() == part.address();
  if (ranks() == 1 && !inside) cpu::stream_copy(part, mine);
  const int rounds = ranks() - 1;
  turn({whole, rank() - 1, rounds, rounds, inside ? View() : mine, factor(op), "a reduce-scatter"});
}

void RingCommunicator::all_gather_here(ConstView mine, View whole) {
  const View part = whole.slice(part_of(whole.size(), ranks(), rank()));
  if (part && mine.address() != part.address()) cpu::stream_copy(mine, part);
  turn({whole, rank(), 0, ranks() - 1, {}, 1.0, "an all-gather"});
}

void RingCommunicator::all_reduce_here(View inout, Reduce::Op op) {
  turn({inout, rank() - 1, ranks() - 1, 2 * (ranks() - 1), {}, factor(op), "an all-reduce"});
}

}  // namespace shardmark
