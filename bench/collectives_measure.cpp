// How long does a collective take, and is its result right? See collectives_measure.hpp.
#include "bench/collectives_measure.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "bench/collectives_inputs.hpp"
#include "bench/runner.hpp"
#include "kernels/cpu/math.hpp"
#include "profilers/timeline.hpp"

namespace shardmark {

namespace {

struct Mine {  // of one call
  std::int64_t begin_ns, end_ns;
  std::uint64_t wrong;
};

class Measurement {
 public:
  Measurement(const CollectivesCell& cell, const MeasuringRank& rank) : cell_(cell), rank_(rank) {
    std::size_t most = 0;
    for (std::size_t v = 0; v < cell.verbs.size(); ++v)
      for (std::size_t s = 0; s < cell.sizes_bytes.size(); ++s) {
        const auto elements = [&](std::size_t size) {
          return elements_of(verb_named(cell.verbs[v]), cell.sizes_bytes[size], cell.ranks);
        };
        // Rounded up, this size is the next one: once is enough.
        if (s + 1 < cell.sizes_bytes.size() && elements(s) == elements(s + 1)) continue;
        most = std::max(most, elements(s));
        for (std::size_t a = 0; a < cell.collectives.size(); ++a) all_.push_back({v, s, a});
      }
    buffer_ = rank.device.memory().alloc(most, DType::f32, Tag::workspace, rank.device.compute());
  }

  Measured run() {
    const std::size_t copies = against_copy() ? 1 : 0;  // one more to take turns with
    for (std::int64_t sweep = 0; sweep < cell_.warmup + most_calls(); ++sweep)
      for (const std::size_t i : order_of(all_.size() + copies, cell_.seed, sweep)) {
        if (i == all_.size() && sweep < cell_.warmup + cell_.repeats) copy();
        if (i < all_.size() && sweep < cell_.warmup + calls_of(all_[i])) call(i);
      }
    collect();
    return {std::move(all_), std::move(copy_ns_),
            copies * buffer_.view().bytes() * static_cast<std::uint64_t>(cell_.ranks)};
  }

 private:
  std::int64_t calls_of(const MeasuredCalls& m) const {
    return timed_calls(cell_.repeats, cell_.sizes_bytes[m.size]);
  }
  std::int64_t most_calls() const { return timed_calls(cell_.repeats, cell_.sizes_bytes.front()); }

  // Input and check touch the whole array right before and after, so every call finds it where the
  // one before it found its own: as near to the processor as its size allows.
  void call(std::size_t which) {
    const MeasuredCalls& m = all_[which];
    const CheckedCall c{verb_named(cell_.verbs[m.verb]), ++repetition_, rank_.world.size(),
                        rank_.world.rank()};
    const View whole =
        buffer_.view().slice({0, elements_of(c.verb, cell_.sizes_bytes[m.size], cell_.ranks)});
    fill_input(c, whole);
    const std::int64_t begin = meet();
    run_verb(c, *rank_.algorithms[m.algorithm], whole, static_cast<int>(which));
    rank_.device.drain();
    const std::int64_t end = now_ns();
    mine_.push_back({begin, end, wrong_elements(c, whole)});
    calls_.push_back(which);
  }

  bool against_copy() const {
    return cell_.ranks > 1 && cell_.collectives.front() == "memory" &&
           buffer_.view().bytes() * static_cast<std::uint64_t>(cell_.ranks) >= uncached_bytes;
  }
  // One half of the array over the other, under the conditions of a call.
  void copy() {
    const std::size_t half = buffer_.view().size() / 2;
    fill_input({Verb::all_reduce, ++repetition_, rank_.world.size(), rank_.world.rank()},
               buffer_.view());
    const std::int64_t begin = meet();
    cpu::stream_copy(buffer_.view().slice({0, half}), buffer_.view().slice({half, half}));
    mine_.push_back({begin, now_ns(), 0});
    calls_.push_back(all_.size());
  }

  // The time when all are here. A barrier, twice: who waits long for the first one may be napping
  // when it opens, but all come to the second one at once.
  std::int64_t meet() {
    (void)rank_.world.gather("");
    (void)rank_.world.gather("");
    return now_ns();
  }

  static void run_verb(const CheckedCall& c, Communicator& by, View whole, int label) {
    const std::size_t each = whole.size() / static_cast<std::size_t>(c.ranks);
    const View mine = whole.slice({static_cast<std::size_t>(c.rank) * each, each});
    const Reduce sum{Reduce::Op::sum, DType::f32};
    if (c.verb == Verb::all_reduce)
      (void)by.all_reduce(whole, sum, label, Event::none());
    else if (c.verb == Verb::reduce_scatter)
      (void)by.reduce_scatter(whole, mine, sum, label, Event::none());
    else
      (void)by.all_gather(mine, whole, label, Event::none());
  }

  // Every rank has made the same calls in the same order, so their measurements stand beside each
  // other. A call lasts from the first begin to the last end, since ranks that share a core take
  // turns; where clocks differ, as long as on the rank that it took longest on.
  void collect() {
    std::string text(mine_.size() * sizeof(Mine), '\0');
    std::memcpy(text.data(), mine_.data(), text.size());
    std::vector<Mine> all = mine_;
    for (Mine& m : all) m.wrong = 0;
    std::vector<std::int64_t> longest(all.size(), 0);
    for (const std::string& theirs : rank_.world.gather(text)) {
      require(theirs.size() == text.size(), "ranks have made different numbers of calls");
      for (std::size_t i = 0; i < all.size(); ++i) {
        Mine one;
        std::memcpy(&one, theirs.data() + i * sizeof one, sizeof one);
        longest[i] = std::max(longest[i], one.end_ns - one.begin_ns);
        all[i] = {std::min(all[i].begin_ns, one.begin_ns), std::max(all[i].end_ns, one.end_ns),
                  all[i].wrong + one.wrong};
      }
    }
    std::vector<std::int64_t> seen(all_.size() + 1, 0);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t which = calls_[i];
      const std::int64_t ns =
          rank_.world.one_clock() ? all[i].end_ns - all[i].begin_ns : longest[i];
      const bool timed = ++seen[which] > cell_.warmup;
      if (which < all_.size()) all_[which].wrong += all[i].wrong;
      if (timed) (which < all_.size() ? all_[which].time_ns : copy_ns_).push_back(ns);
    }
  }

  const CollectivesCell& cell_;
  MeasuringRank rank_;
  Buffer buffer_;
  std::vector<MeasuredCalls> all_;
  std::uint32_t repetition_ = 0;
  std::vector<Mine> mine_;
  std::vector<std::size_t> calls_;  // which of all_, by call; behind its end: the copy
  std::vector<std::int64_t> copy_ns_;
};

}  // namespace

Measured measure_collectives(const CollectivesCell& cell, const MeasuringRank& rank) {
  require(rank.algorithms.size() == cell.collectives.size() && rank.world.size() == cell.ranks,
          "collectives are measured with other ranks or algorithms than their cell has");
  rank.device.begin_step(-1);  // there are none: no profiler shall see one
  return Measurement(cell, rank).run();
}

}  // namespace shardmark
