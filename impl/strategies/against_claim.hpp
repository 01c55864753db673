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

// Peaks by tag and type; a line for each that is not as claimed, empty where there is none.
inline std::string held_against_claim(const std::map<Held, std::uint64_t>& held,
                                      const std::map<Held, double>& claim,
                                      const std::string& where) {
  std::map<Held, std::array<double, 2>> both;  // measured, claimed
  for (const auto& [what, bytes] : held) both[what][0] = static_cast<double>(bytes);
  for (const auto& [what, bytes] : claim) both[what][1] = bytes;
  std::string wrong;
  for (const auto& [what, bytes] : both)
    if (bytes[0] != bytes[1])
      wrong += fmt::format("\n{}: {} {} measured {} claimed {}", where, name(what.first),
                           name(what.second), bytes[0], bytes[1]);
  return wrong;
}

// Every step of every rank; the differences as lines, empty where there is none.
inline std::string against_claim(const Training& t, const TrainingReport& r) {
  std::string wrong;
  for (std::size_t rank = 0; rank < r.ranks.size(); ++rank) {
    for (std::size_t step = 0; step < r.ranks[rank].held_by_step.size(); ++step) {
      wrong += held_against_claim(r.ranks[rank].held_by_step[step], r.claims.exact,
                                  fmt::format("rank {} step {}", rank, step));
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
