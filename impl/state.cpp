#include "impl/state.hpp"

namespace shardmark {

State::State(Device& d, const Layout& l, Tag tag, DType t, Form form, Which which)
    : queue_(d.compute()),
      layout_(l),
      form_(form),
      which_(which),
      keeps_resident_(tag == Tag::parameter),
      buffers_(static_cast<std::size_t>(l.homes())),
      at_(static_cast<std::size_t>(l.segments())),
      views_(static_cast<std::size_t>(l.parameters())) {
  for (int h = 0; h < l.homes(); ++h) {
    const Home& home = l.home(h);
    if (!is_stored(home.first)) continue;
    const std::size_t size =
        is_whole(home.first) ? home.size : home.size / static_cast<std::size_t>(l.ranks());
    buffers_[static_cast<std::size_t>(h)] = d.memory().alloc(size, t, tag, queue_);
    std::size_t at = 0;
    for (int s = home.first; s <= home.last; ++s) {
      at_[static_cast<std::size_t>(s)] = at;
      at += l[s].cut;
    }
  }
  for (int p = 0; p < l.parameters(); ++p) {
    const Place& place = l.place(p);
    const int first = l.home(place.home).first;
    if (is_stored(first) && is_whole(first))
      views_[static_cast<std::size_t>(p)] =
          buffers_[static_cast<std::size_t>(place.home)].view().slice(
              {place.begin, l.parameter_size(p)});
  }
  (void)clear(Phase::update);
}

View State::whole(int s) const {
  require(is_whole(s), "the whole of a state that is cut was asked for");
  return home(s).slice(layout_[s].in_home);
}

std::array<View, 2> State::others(int s) const {
  require(is_whole(s), "other ranks' parts of a state that is cut were asked for");
  const Range all = layout_[s].in_home, mine = layout_.owned(s);
  const std::size_t behind = mine.begin + mine.size;
  return {home(s).slice({all.begin, mine.begin - all.begin}),
          home(s).slice({behind, all.begin + all.size - behind})};
}

View State::mine(int s) const {
  return home(s).slice(is_whole(s) ? layout_.owned(s)
                                   : Range{at_[static_cast<std::size_t>(s)], layout_[s].cut});
}

Event State::clear(Phase phase) const {
  Span span = queue_.begin(phase, no_label, Event::none());
  for (const Buffer& b : buffers_)
    if (b.view()) queue_.run(Clear{b.view()});
  return span.end();
}

Event State::initialize(const Architecture& a, std::uint64_t seed) const {
  Span span = queue_.begin(Phase::update, 0, Event::none());
  for (int p = 0; p < layout_.parameters(); ++p) {
    const Place& place = layout_.place(p);
    const Home& h = layout_.home(place.home);
    for (int s = h.first; s <= h.last; ++s) {
      if (!is_stored(s)) continue;
      // The part of this parameter that lies in what is kept here of the segment.
      const Range kept = is_whole(s) ? layout_[s].in_home : layout_.owned(s);
      const std::size_t from = std::max(kept.begin, place.begin);
      const std::size_t to =
          std::min(kept.begin + kept.size, place.begin + layout_.parameter_size(p));
      if (from >= to) continue;
      const View here = is_whole(s) ? whole(s) : mine(s);
      const Parameter& parameter = a.parameters[static_cast<std::size_t>(p)];
      queue_.run(Fill{here.slice({from - kept.begin, to - from}), parameter.init, seed,
                      static_cast<std::uint64_t>(p), from - place.begin});
    }
  }
  return span.end();
}

}  // namespace shardmark
