// Does a report survive its way to another process, every field of it?
#include "impl/report_bytes.hpp"

#include <gtest/gtest.h>

namespace shardmark {
namespace {

RankReport full() {
  RankReport r;
  r.steps.resize(2);
  r.steps[1].phase_ns[2] = 7;
  r.steps[1].skew_ns = 8;
  r.loss = {1.5, 2.5};
  r.norm_before = {3};
  r.norm_after = {4};
  r.skipped_steps = 5;
  r.loop_ns = 6;
  r.held[{Tag::gradient, DType::f32}] = 9;
  r.held_by_step = {r.held, {}};
  r.peak_bytes = 10;
  r.traffic_by_step.resize(1);
  r.traffic_by_step[0][{Verb::all_gather, DType::f64}] = {1, 2, 3};
  r.allocations_by_step = {23, 24};
  r.spans_by_step = {{},
                     {{1, Phase::reduce, 25, Collective{Verb::all_reduce, DType::f32, 26}, 27}}};
  r.timeline.add(1, {.begin_ns = 28, .phase = Phase::gather, .label = 29, .busy = {{28, 40}}});
  r.traced.begin_ns = 30, r.traced.end_ns = 31, r.traced.before = {32, 33};
  r.traced.timeline.add(0, {.begin_ns = 34});
  r.traced.collectives_before = 35;
  r.traced.memory = {{36, 37, Tag::staging, DType::bf16}};
  r.left_over[{Tag::bucket, DType::f32}] = 11;
  r.parameter_hash = 12;
  r.moved_bytes = 13;
  r.products_ns = 14;
  r.moved_witness = "somebody";
  r.parameters = {15, 16};
  r.ideal.resize(1);
  r.ideal[0].hidden_ns = 17;
  r.counted = {{18, 19}};
  r.interface_mtu = 20;
  r.host = "h";
  r.resident_before_bytes = 21;
  r.resident_peak_bytes = 22;
  r.gpu = {41, "gpu", 42, 43, 44, 45, 63, {}};
  r.gpu.during = {3, 46, 47, {}, 48, 49, 50, {{"hot", "thirsty"}}, "why"};
  r.profile.why_not = "nobody";
  r.profile.sums.activities = {50, 51};
  r.profile.sums.nccl = {52, 53};
  r.profile.sums.calls = {54, 55};
  r.profile.sums.unattributed = {56, 57};
  r.profile.sums.idle_spans = 58, r.profile.sums.untimed = 59;
  r.profile.sums.dropped = 60, r.profile.sums.unreadable = 61;
  r.profile.by_events.resize(3);
  r.profile.by_events[2].step_ns = 62;
  return r;
}

TEST(ReportBytes, NothingIsLost) {
  const RankReport r = unpacked(packed(full()));
  EXPECT_EQ(r.steps[1].of(static_cast<Phase>(2)), 7);
  EXPECT_EQ(r.steps[1].skew_ns, 8);
  EXPECT_EQ(r.loss, full().loss);
  EXPECT_EQ(r.norm_before, full().norm_before);
  EXPECT_EQ(r.norm_after, full().norm_after);
  EXPECT_EQ(r.skipped_steps, 5);
  EXPECT_EQ(r.loop_ns, 6);
  EXPECT_EQ(r.held, full().held);
  EXPECT_EQ(r.held_by_step, full().held_by_step);
  EXPECT_EQ(r.peak_bytes, 10u);
  EXPECT_EQ(r.traffic_by_step, full().traffic_by_step);
  EXPECT_EQ(r.allocations_by_step, full().allocations_by_step);
  EXPECT_EQ(r.spans_by_step, full().spans_by_step);
  EXPECT_TRUE(r.timeline.lane(0).empty());
  EXPECT_EQ(r.timeline.lane(1).at(0).begin_ns, 28);
  EXPECT_EQ(r.timeline.lane(1).at(0).label, 29);
  EXPECT_EQ(r.timeline.lane(1).at(0).busy, (std::vector<Stretch>{{28, 40}}));
  EXPECT_EQ(r.traced.begin_ns, 30);
  EXPECT_EQ(r.traced.end_ns, 31);
  EXPECT_EQ(r.traced.before, full().traced.before);
  EXPECT_EQ(r.traced.timeline.lane(0).at(0).begin_ns, 34);
  EXPECT_EQ(r.traced.collectives_before, 35u);
  EXPECT_EQ(r.traced.memory, full().traced.memory);
  EXPECT_EQ(r.left_over, full().left_over);
  EXPECT_EQ(r.parameter_hash, 12u);
  EXPECT_EQ(r.moved_bytes, 13u);
  EXPECT_EQ(r.products_ns, 14);
  EXPECT_EQ(r.moved_witness, "somebody");
  EXPECT_EQ(r.parameters, full().parameters);
  EXPECT_EQ(r.ideal.at(0).hidden_ns, 17);
  EXPECT_EQ(r.counted.at(0).packets, 19u);
  EXPECT_EQ(r.interface_mtu, 20);
  EXPECT_EQ(r.host, "h");
  EXPECT_EQ(r.resident_before_bytes, 21u);
  EXPECT_EQ(r.resident_peak_bytes, 22u);
}

TEST(ReportBytes, NothingOfTheGpuIsLost) {
  const RankReport r = unpacked(packed(full()));
  EXPECT_EQ(r.gpu.gpu, 41);
  EXPECT_EQ(r.gpu.id, "gpu");
  EXPECT_EQ(r.gpu.reserved_bytes, 42u);
  EXPECT_EQ(r.gpu.used_before_bytes, 43);
  EXPECT_EQ(r.gpu.communicator_bytes, 44);
  EXPECT_EQ(r.gpu.driver_bytes, 45);
  EXPECT_EQ(r.gpu.products_by_tiles, 63u);
  EXPECT_EQ(r.gpu.during.samples, 3u);
  EXPECT_EQ(r.gpu.during.min_sm_mhz, 46u);
  EXPECT_EQ(r.gpu.during.median_sm_mhz, 47u);
  EXPECT_FALSE(r.gpu.during.most_sm_mhz);
  EXPECT_EQ(r.gpu.during.min_memory_mhz, 48u);
  EXPECT_EQ(r.gpu.during.max_power_mw, 49u);
  EXPECT_EQ(r.gpu.during.max_temperature_c, 50u);
  EXPECT_EQ(r.gpu.during.reasons, (std::vector<std::string>{"hot", "thirsty"}));
  EXPECT_EQ(r.gpu.during.why_not, "why");
  EXPECT_EQ(r.profile.why_not, "nobody");
  const Attributed& sums = r.profile.sums;
  EXPECT_EQ(sums.activities, (Attributed::Sum{50, 51}));
  EXPECT_EQ(sums.nccl, (Attributed::Sum{52, 53}));
  EXPECT_EQ(sums.calls, (Attributed::Sum{54, 55}));
  EXPECT_EQ(sums.unattributed, (Attributed::Sum{56, 57}));
  EXPECT_EQ(sums.idle_spans, 58u);
  EXPECT_EQ(sums.untimed, 59u);
  EXPECT_EQ(sums.dropped, 60u);
  EXPECT_EQ(sums.unreadable, 61u);
  EXPECT_EQ(r.profile.by_events.at(2).step_ns, 62);
}

TEST(ReportBytes, PiecesAreRefused) {
  const std::string whole = packed(full());
  for (const std::size_t n : {std::size_t{0}, std::size_t{7}, whole.size() / 2, whole.size() - 1})
    EXPECT_THROW(unpacked(whole.substr(0, n)), Error) << n;
  EXPECT_THROW(unpacked(whole + "x"), Error);
}

}  // namespace
}  // namespace shardmark
