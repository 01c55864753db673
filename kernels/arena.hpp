#pragma once
// Who holds which bytes? Counted when taken and when given back, in program order. Memory given
// back carries the event after which it may be used again, and alloc makes the queue that writes
// first wait for it: nobody can forget to.
#include <utility>

#include "profilers/ledgers.hpp"
#include "queue.hpp"

namespace shardmark {

class Arena;
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& o) noexcept
      : arena_(std::exchange(o.arena_, nullptr)), view_(std::exchange(o.view_, {})), tag_(o.tag_) {}
  Buffer& operator=(Buffer&& o) noexcept {
    std::swap(arena_, o.arena_);
    std::swap(view_, o.view_);
    std::swap(tag_, o.tag_);
    return *this;
  }
  ~Buffer() {
    give_back(Event::none());
  }  // only once the queues are drained; give_back(event) otherwise
  View view() const { return view_; }
  void give_back(Event after);

 private:
  friend class Arena;
  Buffer(Arena* a, View v, Tag t) : arena_(a), view_(v), tag_(t) {}
  Arena* arena_ = nullptr;
  View view_;
  Tag tag_{};
};

class Arena {
 public:
  virtual ~Arena() = default;
  // size: elements; 0 is legal and gives an empty view. The bytes are not cleared.
  Buffer alloc(std::size_t size, DType dtype, Tag tag, Queue& first_writer) {
    Event free = Event::none();
    const View view = do_alloc(size, dtype, free);
    first_writer.wait(free);
    ledger_.add({tag, dtype}, view.bytes());
    return Buffer(this, view, tag);
  }
  const MemoryLedger& ledger() const { return ledger_; }
  void restart_peaks() { ledger_.restart_peaks(); }
  void keep_events() { ledger_.keep_events(); }

 private:
  friend class Buffer;
  virtual View do_alloc(std::size_t size, DType, Event& free) = 0;
  virtual void do_free(View, Event after) = 0;
  MemoryLedger ledger_;
};

inline void Buffer::give_back(Event after) {
  if (!arena_) return;
  arena_->ledger_.remove({tag_, view_.dtype()}, view_.bytes());
  std::exchange(arena_, nullptr)->do_free(std::exchange(view_, {}), after);
}

}  // namespace shardmark
