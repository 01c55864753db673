#pragma once
// What would happen, and in what order? A device that moves nothing: it counts bytes, keeps a
// virtual clock and proves the order. The same step() runs on it for any N. Every op names what it
// reads and writes; an access that is not ordered after a conflicting one on the other queue is an
// error, whatever the timing, and so is one to memory that nobody holds.
#include <functional>
#include <string>

#include "kernels/device.hpp"
#include "kernels/free_list.hpp"

namespace shardmark {

// How long an op takes by its virtual clock: a roofline, and for a transfer its volume.
struct DryRates {
  double flops_per_ns = 100, bytes_per_ns = 20, wire_bytes_per_ns = 1;
  double ns(const Op&) const;
};

struct DryClock {
  std::function<double(const Op&)> ns = [](const Op& op) { return DryRates().ns(op); };
  // Compute takes so many times as long while the other queue is busy.
  double contention = 1;
};

struct DryOptions {
  DryClock clock{};
  bool check_order = true;  // false: faster, and violations() stays empty
  // What the device that is stood in for asks for an op; none: nothing.
  std::function<std::size_t(const Op&)> scratch_bytes{};
};

class DryDevice final : public Device {
 public:
  explicit DryDevice(bool overlap, DryOptions options = {});
  Queue& compute() override { return queues_[0]; }
  Queue& comm() override { return queues_[overlap_ ? 1 : 0]; }
  Arena& memory() override { return arena_; }
  void begin_step(int step) override { step_ = step; }
  void drain() override;  // both queues come after everything that was enqueued
  void stop() noexcept override {}
  const Timeline& timeline() const override { return timeline_; }
  std::size_t scratch_bytes(const Op& op) const override {
    return options_.scratch_bytes ? options_.scratch_bytes(op) : 0;
  }

  std::vector<float> fetch_f32(ConstView) override { throw Error(holds_nothing); }

  const std::vector<std::string>& violations() const {
    return violations_;
  }  // of the order; at most a hundred are kept

 private:
  static constexpr const char* holds_nothing = "the dry device holds no numbers to be fetched";
  void do_fetch(ConstView, void*) override { throw Error(holds_nothing); }
  struct Clock {
    std::uint64_t ticket[2] = {0, 0};
  };
  struct Done {
    double time;
    Clock known;  // what was ordered before it
  };
  struct Past {
    std::uintptr_t begin, end;
    int lane;
    std::uint64_t ticket;
    bool write;
    std::string_view what;
  };

  class DryQueue final : public Queue {
   public:
    DryQueue(DryDevice& d, int lane) : Queue(lane), device_(d) {}
    void run(Op op) override;
    void wait(Event after) override;
    void catch_up();
    double time() const { return time_; }

   private:
    void do_begin(Interval, Event after) override;
    Event do_end() override;
    void touch(ConstView, bool write, std::string_view what);
    double slowed(double ns) const;
    DryDevice& device_;
    double time_ = 0;
    Clock known_;
    Interval current_;
    bool open_ = false;
  };

  class DryArena final : public Arena {
   public:
    bool holds(std::uintptr_t begin, std::uintptr_t end) const;

   private:
    View do_alloc(std::size_t size, DType, Event& free) override;
    void do_free(View, Event after) override;
    std::uintptr_t next_ = 4096;
    std::map<std::uintptr_t, std::uintptr_t> live_;  // begin, end
    FreeList free_;
  };

  void violate(std::string sentence);

  bool overlap_;
  DryOptions options_;
  int step_ = 0;
  std::vector<Done> done_[2];
  std::vector<Past> past_;
  std::vector<std::string> violations_;
  Timeline timeline_;
  DryQueue queues_[2];
  DryArena arena_;
};

}  // namespace shardmark
