#pragma once
// Which whole buffers come and go within a step? Gathered weights, gradients on their way to be
// reduced. Opened and closed in program order, so the peak is a function of the cell. The `linger`
// homes closed last stay allocated: that many collectives may still be reading them while the next
// ones are written.
#include <deque>

#include "impl/layout.hpp"
#include "kernels/device.hpp"

namespace shardmark {

class Window {
 public:
  // first_writer: who fills it, the communication queue for weights, the compute queue for
  // gradients. resident: what is always here, by parameter.
  Window(Device&, Queue& first_writer, const Layout&, Tag, DType, int linger, Views resident = {});

  bool open(int s);                // true if it was not here: somebody must fill it
  void open_clear(int unit);       // as zeros, its trainable segments only: gradients are added
  void close(int s, Event after);  // after: the last work that reads it
  void retire(int keep = 0);       // gives back all but the `keep` closed last
  View whole(int s) const { return slot(s).buffer.view().slice(layout_[s].in_home); }
  Views views() const { return views_; }

 private:
  struct Slot {
    Buffer buffer;
    int users = 0;
    Event after = Event::none();
  };
  Slot& slot(int s) { return slots_[static_cast<std::size_t>(layout_[s].home)]; }
  const Slot& slot(int s) const { return slots_[static_cast<std::size_t>(layout_[s].home)]; }
  void show(int home, View whole);

  Device& device_;
  Queue& writer_;
  const Layout& layout_;
  Tag tag_;
  DType dtype_;
  int linger_;
  std::vector<Slot> slots_;  // by home
  std::deque<std::pair<Buffer, Event>> closed_;
  std::vector<View> views_;  // by parameter
};

}  // namespace shardmark
