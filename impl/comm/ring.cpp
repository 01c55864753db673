#include "impl/comm/ring.hpp"

#include "kernels/cpu/math.hpp"

namespace shardmark {

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
    constexpr std::size_t least_bytes = 8 << 10;
    const std::size_t size = size_of(t.whole.dtype());
    const std::size_t chunk = std::clamp(part * size / 4, least_bytes, options_.chunk_bytes) / size;
    chunks_ = std::max<std::size_t>(1, (part + chunk - 1) / chunk);
    messages_ = chunks_ * static_cast<std::size_t>(ranks_ - 1);
  }

  bool done() const { return taken_ == messages_ && next_ == messages_ && sent_ == posted_; }

  // Moves on what can move; false if nothing did.
  bool advance() {
    const bool posted = post_receives(), taken = take(), sent = send();
    const std::uint64_t ended = transport_.sent() - sent_before_;
    const bool left = ended != sent_;
    sent_ = ended;
    return posted || taken || sent || left;
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

  bool post_receives() {
    bool any = false;
    for (; listening_ < messages_ && listening_ < taken_ + options_.window; ++listening_) {
      const View to = turn_.adds ? landing(listening_) : chunk(listening_, true);
      if (!to) continue;
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
        if (turn_.adds) add(own);
      }
      any = true;
    }
    return any;
  }

  void add(View own) {
    const bool last = taken_ >= messages_ - chunks_;
    View to = own;
    if (last && turn_.last) {
      const std::size_t begin = (own.address() - part_address()) / size_of(own.dtype());
      to = turn_.last.slice({begin, own.size()});
    }
    const ConstView both[] = {landing(taken_), own};
    cpu::reduce_ranks(both, to, last ? turn_.factor : 1.0);
  }
  std::uintptr_t part_address() const {  // of the part that comes last
    const int part = ((turn_.first - ranks_ + 1) % ranks_ + ranks_) % ranks_;
    return turn_.whole.slice(part_of(turn_.whole.size(), ranks_, part)).address();
  }

  bool send() {
    bool any = false;
    for (; next_ < messages_ && posted_ - sent_ < options_.window; ++next_) {
      if (next_ >= chunks_ && next_ - chunks_ >= taken_) break;
      const View out = chunk(next_, false);
      if (out) {
        transport_.send(out);
        ++posted_;
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
  std::size_t chunks_ = 1, messages_ = 0;
  std::size_t next_ = 0, listening_ = 0, taken_ = 0;  // messages, empty ones included
  std::uint64_t posted_ = 0, used_ = 0, sent_ = 0;
  std::uint64_t sent_before_, received_before_;
};

namespace {

std::size_t landing_bytes(int ranks, const RingOptions& o) {
  return ranks > 1 ? o.chunk_bytes * o.window : 0;
}

}  // namespace

RingCommunicator::RingCommunicator(Device& d, World& w, std::unique_ptr<Transport> t, RingOptions o)
    : HostCommunicator(d, w, Collectives::ring), transport_(std::move(t)), options_(o) {
  if (const std::size_t bytes = landing_bytes(ranks(), o))
    landing_ = d.memory().alloc(bytes, DType::u8, Tag::workspace, d.comm());
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

// In round s rank r sends part r - 1 - s, and receives r - 2 - s, so that its own part comes last,
// with all others in it.
void RingCommunicator::scatter(View whole, View mine, Reduce::Op op) {
  const double factor = op == Reduce::Op::mean ? 1.0 / ranks() : 1.0;
  turn({whole, rank() - 1, true, mine, factor, "a reduce-scatter"});
}

void RingCommunicator::gather(View whole) {
  turn({whole, rank(), false, {}, 1.0, "an all-gather"});
}

void RingCommunicator::reduce_scatter_here(View whole, View mine, Reduce::Op op) {
  const View part = whole.slice(part_of(whole.size(), ranks(), rank()));
  if (ranks() == 1 && mine.address() != part.address()) cpu::stream_copy(part, mine);
  scatter(whole, mine.address() == part.address() ? View() : mine, op);
}

void RingCommunicator::all_gather_here(ConstView mine, View whole) {
  const View part = whole.slice(part_of(whole.size(), ranks(), rank()));
  if (part && mine.address() != part.address()) cpu::stream_copy(mine, part);
  gather(whole);
}

void RingCommunicator::all_reduce_here(View inout, Reduce::Op op) {
  scatter(inout, {}, op);
  gather(inout);
}

}  // namespace shardmark
