#pragma once
// Which memory may be used again, and after what? Buffers of one size, oldest first; each with the
// event that ends its use.
#include <deque>
#include <map>
#include <optional>

#include "queue.hpp"

namespace shardmark {

class FreeList {
 public:
  struct Entry {
    std::uintptr_t address;
    Event after;
  };
  std::optional<Entry> take(std::size_t bytes) {
    const auto it = entries_.find(bytes);
    if (it == entries_.end() || it->second.empty()) return std::nullopt;
    const Entry e = it->second.front();
    it->second.pop_front();
    return e;
  }
  void put(std::size_t bytes, Entry e) { entries_[bytes].push_back(e); }
  template <class F>
  void each(F&& f) const {
    for (const auto& [bytes, list] : entries_)
      for (const Entry& e : list) f(e.address, bytes);
  }
  // f(address, bytes) of each, which are then no longer here.
  template <class F>
  void clear(F&& f) {
    each(f);
    entries_.clear();
  }

 private:
  std::map<std::size_t, std::deque<Entry>> entries_;
};

}  // namespace shardmark
