// Is what witnesses saw leave each rank set beside the volume, and judged as it should be? Counts
// here are made by hand: packets of 1,448 bytes behind 66 of headers.
#include "bench/witness.hpp"

#include <gtest/gtest.h>

#include "bench/measured.hpp"
#include "bench/self_checks.hpp"

namespace shardmark {
namespace {

using nlohmann::json;

constexpr Called scatter{Verb::reduce_scatter, DType::f32};
constexpr std::uint64_t volume = 14'480'000, packets = 10'000;  // a step; 1,448 bytes a packet

Training training() {
  Training t;
  t.ranks = 2;
  t.interface = "eth7";
  t.counted_steps = 3;
  return t;
}

// Two hosts; payload is what the ledger says and `more` beside it, in each of three steps.
TrainingReport report(std::uint64_t more = 0) {
  TrainingReport r;
  r.ranks.resize(2);
  for (std::size_t i = 0; i < 2; ++i) {
    RankReport& rank = r.ranks[i];
    rank.host = i == 0 ? "left" : "right";
    rank.interface_mtu = 1500;
    rank.traffic_by_step.assign(6, {{scatter, {3, 2 * volume, volume}}});
    rank.counted.assign(3, {});
    for (auto& c : rank.counted) {
      c.packets = packets;
      c.bytes = volume + more + packets * 66;
    }
  }
  r.claims.exact_calls = {{scatter, {3, 2 * volume, volume}}};
  return r;
}

TEST(witness, payload_is_what_headers_leave) {
  const json t = traffic_section(training(), report(14'480));
  const json& seen = t["interface"];
  EXPECT_EQ(seen["name"], "eth7");
  EXPECT_EQ(seen["mtu"], 1500);
  EXPECT_EQ(seen["steps"], 3);
  EXPECT_EQ(seen["header_bytes_per_packet"], 66);
  ASSERT_EQ(seen["by_rank"].size(), 2u);
  EXPECT_EQ(seen["by_rank"][1], (json{{"bytes", 3 * (14'494'480 + 660'000)},
                                      {"packets", 30'000},
                                      {"payload_bytes", 3 * 14'494'480},
                                      {"volume_bytes", 3 * 14'480'000}}));
  EXPECT_DOUBLE_EQ(t["moved_over_volume"], 1.001);
  EXPECT_EQ(t["moved_over_volume_witness"], "interface");
  EXPECT_TRUE(t["moved_bytes"].is_null());
}

TEST(witness, an_interface_may_see_one_percent_more_and_nothing_less) {
  const auto verdict = [](std::int64_t more) {
    return moved_agrees(training(), report(static_cast<std::uint64_t>(more))).value;
  };
  EXPECT_EQ(verdict(0), true);
  EXPECT_EQ(verdict(144'800), true);
  EXPECT_EQ(verdict(144'801), false);
  EXPECT_EQ(verdict(-1), false);
  EXPECT_EQ(
      moved_agrees(training(), report(1'448'000)).reason,
      "the interface of rank 0 sent 47784000 bytes without headers where its ledger says "
      "43440000: 1.1000 of them, but 1.00 to 1.01 were expected; beside bytes that were not to "
      "be sent, it may be that the host has more than one network card, or that its packets "
      "are of IPv6, whose headers are larger");
}

TEST(witness, the_transport_is_held_to_every_byte) {
  Training t = training();
  t.interface = "";
  TrainingReport r = report();
  for (RankReport& rank : r.ranks) {
    rank.counted.clear();
    rank.moved_witness = "the test";
    rank.moved_bytes = 6 * volume;
  }
  EXPECT_EQ(moved_agrees(t, r).value, true);
  EXPECT_EQ(traffic_section(t, r)["moved_over_volume"], 1.0);
  EXPECT_EQ(traffic_section(t, r)["moved_over_volume_witness"], "transport");
  r.ranks[1].moved_bytes += 4;
  EXPECT_EQ(moved_agrees(t, r).value, false);
  // An interface that agrees does not excuse it.
  TrainingReport both = report();
  for (RankReport& rank : both.ranks) rank.moved_witness = "the test";
  EXPECT_EQ(moved_agrees(training(), both).value, false);
}

TEST(witness, what_cannot_be_judged_says_why) {
  TrainingReport small = report(), shared = report(), unread = report(), nothing = report();
  for (RankReport& rank : small.ranks)
    for (TrafficLedger& step : rank.traffic_by_step) step[scatter].volume = 7'999'999;
  shared.ranks[1].host = "left";
  for (RankReport& rank : unread.ranks) rank.counted.clear();
  for (RankReport& rank : nothing.ranks)
    for (TrafficLedger& step : rank.traffic_by_step) step.clear();
  for (const auto& [r, part] : {std::pair(&small, "at least 8.00 MB"),
                                {&shared, "ranks share a host"},
                                {&unread, "were not read"},
                                {&nothing, "at least 8.00 MB"}}) {
    const Verdict v = moved_agrees(training(), *r);
    EXPECT_TRUE(v.value.is_null()) << part;
    EXPECT_NE(v.reason.find(part), std::string::npos) << v.reason;
  }
  // On one host the counts are shown, but nothing is made of them.
  const json t = traffic_section(training(), shared);
  EXPECT_TRUE(t["interface"].is_object());
  EXPECT_TRUE(t["moved_over_volume"].is_null());
  EXPECT_EQ(traffic_section(training(), nothing)["moved_over_volume_reason"],
            "nothing was to be sent");
}

TEST(witness, an_emulated_link_is_said_in_bytes_a_second) {
  EXPECT_EQ(emulated_link(Link{0.125, 50'000}),
            (json{{"emulated_link", {{"rate_bytes_per_second", 125e6}, {"latency_ns", 50'000}}}}));
  EXPECT_TRUE(emulated_link(std::nullopt)["emulated_link"].is_null());
}

}  // namespace
}  // namespace shardmark
