#pragma once
// What is a strategy? It answers who keeps what, and when it is exchanged. One file each; each
// registers itself.
#include <map>

#include "impl/models/model.hpp"
#include "impl/optimizer.hpp"
#include "impl/window.hpp"

namespace shardmark {

class Strategy {
 public:
  Strategy(Rank& r, Model& m, const Layout& l, const Options& o)
      : device_(r.device), comm_(r.comm), model_(m), layout_(l), options_(o) {}
  virtual ~Strategy() = default;
  virtual void step(const Batch&) = 0;  // enqueues; loss, norm and skips are read after the drain
  virtual const State& parameters() const = 0;  // to start them and to look at them
  virtual const Optimizer& optimizer() const = 0;
  virtual const GlobalNorm& norm() const = 0;

 protected:
  Device& device_;
  Communicator& comm_;
  Model& model_;
  const Layout& layout_;
  const Options& options_;
};

struct StrategyEntry {
  std::string summary;
  int rank;      // place in lists: the order in which the subject is told
  bool by_unit;  // segments are units (zero3), else buckets
  Claim (*claim)(const Layout&, const Options&);
  std::unique_ptr<Strategy> (*make)(Rank&, Model&, const Layout&, const Options&);
};
inline std::map<std::string, StrategyEntry>& strategies() {
  static std::map<std::string, StrategyEntry> all;
  return all;
}

// One object of this at the end of a strategy's file makes it known to everybody.
template <class S>
struct Registered {
  Registered(const char* name, int rank, const char* summary, bool by_unit = false) {
    const auto make = [](Rank& r, Model& m, const Layout& l,
                         const Options& o) -> std::unique_ptr<Strategy> {
      return std::make_unique<S>(r, m, l, o);
    };
    require(
        strategies().emplace(name, StrategyEntry{summary, rank, by_unit, S::claim, make}).second,
        std::string("two strategies are called ") + name);
  }
};

// When each segment is ready.
class Events {
 public:
  explicit Events(const Layout& l)
      : events_(static_cast<std::size_t>(l.segments()), Event::none()) {}
  Event& operator[](int segment) { return events_[static_cast<std::size_t>(segment)]; }
  Event all() const {
    Event e = Event::none();
    for (const Event& x : events_) e = e | x;
    return e;
  }
  Event of(const Segments& segments) const {
    Event e = Event::none();
    for (int s : segments) e = e | events_[static_cast<std::size_t>(s)];
    return e;
  }

 private:
  std::vector<Event> events_;
};

}  // namespace shardmark
