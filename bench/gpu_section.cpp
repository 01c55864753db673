#include "bench/gpu_section.hpp"

#include <map>

#include "bench/self_checks.hpp"

namespace shardmark {

using nlohmann::json;

namespace {

// Ranks of one host and one GPU, whatever its number in their processes; what the driver says is of
// all of them, so the last to look has seen the most.
struct Card {
  int gpu = 0;
  std::vector<std::size_t> ranks;
  std::uint64_t reserved_bytes = 0, products_by_tiles = 0;
  std::int64_t used_before_bytes = 0, communicator_bytes = 0, driver_bytes = 0;
  GpuStates during;  // as its first rank was told
};

json states_of(const GpuStates& s) {
  json out = {{"samples", s.samples}};
  const std::string why = s.why_not.empty() ? "the driver does not tell" : s.why_not;
  for (const auto& [key, value] : {std::pair("min_sm_mhz", s.min_sm_mhz),
                                   {"median_sm_mhz", s.median_sm_mhz},
                                   {"most_sm_mhz", s.most_sm_mhz},
                                   {"min_memory_mhz", s.min_memory_mhz},
                                   {"max_power_mw", s.max_power_mw},
                                   {"max_temperature_c", s.max_temperature_c}}) {
    if (value)
      out[key] = *value;
    else
      set_missing(out, key, why);
  }
  if (s.reasons)
    out["reasons"] = *s.reasons;
  else
    set_missing(out, "reasons", why);
  return out;
}

json card_of(const std::string& host, const std::string& id, const Card& c) {
  const auto reserved = static_cast<std::int64_t>(c.reserved_bytes);
  return {{"host", host},
          {"id", id},
          {"gpu", c.gpu},
          {"ranks", c.ranks},
          {"reserved_bytes", c.reserved_bytes},
          {"driver_bytes", c.driver_bytes},
          {"unexplained_bytes", c.driver_bytes - reserved},
          {"communicator_bytes", c.communicator_bytes},
          {"used_before_bytes", c.used_before_bytes},
          {"products_by_tiles", c.products_by_tiles},
          {"during", states_of(c.during)}};
}

}  // namespace

json gpu_sections(const Training& t, const TrainingReport& r) {
  if (t.device != DeviceKind::cuda) return json::object();
  std::map<std::pair<std::string, std::string>, Card> cards;
  for (std::size_t i = 0; i < r.ranks.size(); ++i) {
    const GpuUse& use = r.ranks[i].gpu;
    Card& c = cards[{r.ranks[i].host, use.id}];
    if (c.ranks.empty()) c.gpu = use.gpu, c.during = use.during;
    c.ranks.push_back(i);
    c.reserved_bytes += use.reserved_bytes;
    c.products_by_tiles += use.products_by_tiles;
    c.used_before_bytes = std::max(c.used_before_bytes, use.used_before_bytes);
    c.communicator_bytes = std::max(c.communicator_bytes, use.communicator_bytes);
    c.driver_bytes = std::max(c.driver_bytes, use.driver_bytes);
  }
  json all = json::array();
  for (const auto& [where, card] : cards) all.push_back(card_of(where.first, where.second, card));
  return {{"shared_device", cards.size() < r.ranks.size()}, {"gpu", {{"cards", std::move(all)}}}};
}

}  // namespace shardmark
