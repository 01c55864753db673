#include "impl/export.hpp"

#include <bit>

namespace shardmark {
namespace {
constexpr std::uint64_t offset = 0xcbf29ce484222325u, prime = 0x100000001b3u;
}

void export_parameters(Rank& rank, const Layout& layout, const State& state,
                       const std::function<void(int, ConstView)>& see) {
  for (int h = 0; h < layout.homes(); ++h) {
    const Home& home = layout.home(h);
    if (!state.is_stored(home.first)) continue;
    Buffer gathered;
    if (!state.is_whole(home.first)) {
      const DType dtype = state.mine(home.first).dtype();
      gathered = rank.device.memory().alloc(home.size, dtype, Tag::staging, rank.device.comm());
      for (int s = home.first; s <= home.last; ++s)
        (void)rank.comm.all_gather(state.mine(s), gathered.view().slice(layout[s].in_home), s,
                                   Event::none());
      rank.device.drain();
    }
    for (int p = 0; p < layout.parameters(); ++p) {
      const Range place{layout.place(p).begin, layout.parameter_size(p)};
      if (layout.place(p).home != h || place.size == 0) continue;
      see(p, gathered.view() ? ConstView(gathered.view().slice(place))
                             : ConstView(state.views()[static_cast<std::size_t>(p)]));
    }
  }
}

std::uint64_t hash_of(std::span<const float> values) {
  std::uint64_t hash = offset;
  for (float v : values) hash = (hash ^ std::bit_cast<std::uint32_t>(v)) * prime;
  return hash;
}

std::uint64_t hash_of(std::span<const std::uint64_t> hashes) {
  std::uint64_t hash = offset;
  for (std::uint64_t h : hashes) hash = (hash ^ h) * prime;
  return hash;
}

}  // namespace shardmark
