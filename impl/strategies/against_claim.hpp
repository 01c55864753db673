#pragma once
// Is what a training measured what its strategy claims, byte for byte and call for call? Shared by
// the tests that train.
#include <fmt/format.h>

#include <array>

#include "impl/train.hpp"

namespace shardmark {

inline std::vector<std::uint8_t> some_text() {
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 4000; ++i)
    bytes.push_back(static_cast<std::uint8_t>(32 + (i * i / 7 + i % 13 * 5) % 90));
  return bytes;
}

// Every step of every rank; the differences as lines, empty where there is none.
inline std::string against_claim(const Training& t, const TrainingReport& r) {
  std::string wrong;
  for (std::size_t rank = 0; rank < r.ranks.size(); ++rank) {
    for (std::size_t step = 0; step < r.ranks[rank].held_by_step.size(); ++step) {
      // What is measured and what is claimed, by tag and type; nothing is zero.
      std::map<Held, std::array<double, 2>> both;
      for (const auto& [what, bytes] : r.ranks[rank].held_by_step[step])
        both[what][0] = static_cast<double>(bytes);
      for (const auto& [what, bytes] : r.claims.exact) both[what][1] = bytes;
      for (const auto& [what, bytes] : both)
        if (bytes[0] != bytes[1])
          wrong += fmt::format("\nrank {} step {}: {} {} measured {} claimed {}", rank, step,
                               name(what.first), name(what.second), bytes[0], bytes[1]);
      const auto& sent = r.ranks[rank].traffic_by_step[step];
      if (sent.size() != r.claims.exact_calls.size())
        wrong += fmt::format("\nrank {} step {}: other verbs than claimed", rank, step);
      for (const auto& [what, claim] : r.claims.exact_calls) {
        Traffic measured = sent.contains(what) ? sent.at(what) : Traffic{};
        if (what.second == DType::f64 && rank > 0)
          measured.volume = claim.volume;  // a scalar is not cut evenly
        if (!(measured == claim))
          wrong += fmt::format("\nrank {} step {}: {} {} calls {} payload {} volume {}", rank, step,
                               name(what.first), name(what.second), measured.calls,
                               measured.payload, measured.volume);
      }
    }
    if (!r.ranks[rank].left_over.empty())
      wrong += fmt::format("\nrank {} keeps something that should be gone", rank);
  }
  return wrong.empty() ? wrong : t.strategy + " at N=" + std::to_string(t.ranks) + wrong;
}

}  // namespace shardmark
