#include "impl/window.hpp"

namespace shardmark {

Window::Window(Device& d, Queue& first_writer, const Layout& l, Tag tag, DType t, int linger,
               Views resident)
    : device_(d),
      writer_(first_writer),
      layout_(l),
      tag_(tag),
      dtype_(t),
      linger_(linger),
      slots_(static_cast<std::size_t>(l.homes())),
      views_(static_cast<std::size_t>(l.parameters())) {
  std::copy(resident.begin(), resident.end(), views_.begin());
}

bool Window::open(int s) {
  Slot& home = slot(s);
  if (home.users++) return false;
  home.after = Event::none();
  home.buffer = device_.memory().alloc(layout_.home(layout_[s].home).size, dtype_, tag_, writer_);
  show(layout_[s].home, home.buffer.view());
  return true;
}

void Window::open_clear(int unit) {
  for (int s : layout_.used_by(unit)) {
    if (!layout_[s].trainable || slot(s).users) continue;
    const Home& h = layout_.home(layout_[s].home);
    for (int each = h.first; each <= h.last; ++each) open(each);  // closed one segment at a time
    Span span = writer_.begin(Phase::backward, unit, Event::none());
    writer_.run(Clear{slot(s).buffer.view()});
    (void)span.end();
  }
}

void Window::close(int s, Event after) {
  Slot& home = slot(s);
  home.after = home.after | after;
  if (--home.users) return;
  show(layout_[s].home, {});
  closed_.emplace_back(std::move(home.buffer), home.after);
  retire(linger_);
}

void Window::retire(int keep) {
  for (; static_cast<int>(closed_.size()) > keep; closed_.pop_front())
    closed_.front().first.give_back(closed_.front().second);
}

void Window::show(int home, View whole) {
  for (int p = 0; p < layout_.parameters(); ++p)
    if (layout_.place(p).home == home)
      views_[static_cast<std::size_t>(p)] =
          whole ? whole.slice({layout_.place(p).begin, layout_.parameter_size(p)}) : View{};
}

}  // namespace shardmark
