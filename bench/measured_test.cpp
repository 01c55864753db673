// Does a record say what the report of a training said? Reports here are made by hand, so every
// figure is known beforehand.
#include "bench/measured.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/embedded.hpp"
#include "bench/machine.hpp"
#include "bench/self_checks.hpp"

namespace shardmark {
namespace {

using nlohmann::json;

constexpr Held weights{Tag::parameter, DType::f32}, scratch{Tag::workspace, DType::u8};
constexpr Called scatter{Verb::reduce_scatter, DType::f32};

StepTimes step(std::int64_t forward, std::int64_t backward, std::int64_t exposed) {
  StepTimes s;
  s.phase_ns[static_cast<std::size_t>(Phase::forward)] = forward;
  s.phase_ns[static_cast<std::size_t>(Phase::backward)] = backward;
  s.exposed_ns = exposed;
  s.hidden_ns = 7;
  s.communication_ns = exposed + 7;
  s.other_ns = 1;
  s.step_ns = forward + backward + exposed + 1;
  return s;
}

Training training() {
  Training t;
  t.ranks = 2;
  t.warmup = 2;
  t.steps = 4;
  t.options.clip = 1;
  return t;
}

// Steps of 61, 81, 71, 91 ns on the slower of two ranks, behind two of warm-up that would change
// every median.
TrainingReport report() {
  TrainingReport r;
  r.ranks.resize(2);
  r.ranks[0].steps = {step(900, 900, 0), step(900, 900, 0), step(10, 20, 30),
                      step(10, 20, 50),  step(10, 20, 5),   step(10, 20, 60)};
  r.ranks[1].steps = {step(900, 900, 0), step(900, 900, 0), step(10, 20, 10),
                      step(10, 20, 40),  step(20, 40, 10),  step(10, 20, 1)};
  for (RankReport& rank : r.ranks) {
    rank.loss = {4, 3, 2, 2, 2, 2};
    rank.norm_before = {5, 5, 5, 5, 5, 5};
    rank.norm_after = {1, 1, 1, 1, 1, 1};
    rank.held = {{weights, 400}, {scratch, 50}};
    rank.peak_bytes = 440;
    rank.traffic_by_step.assign(6, {{scatter, {3, 400, 200}}});
    rank.moved_bytes = 6 * 200;
    rank.moved_witness = "the test";
    rank.parameter_hash = 0xabc;
    rank.products_ns = 45;
  }
  r.claims.exact = {{weights, 400.0}, {scratch, 50.0}};
  r.claims.textbook = {{weights, 396.0}};
  r.claims.formula = {{Tag::parameter, "4P"}};
  r.claims.exact_calls = {{scatter, {3, 400, 200}}};
  r.claims.textbook_calls = {{scatter, {396, 198}}};
  r.claims.parameters = r.claims.trainable = 99;
  r.claims.padding_elements = 1;
  r.flops_per_step = 90;
  r.tokens_per_step = 142;
  r.resident_before_bytes = 1000;
  r.resident_peak_bytes = 2000;
  return r;
}

TEST(measured, the_median_step_is_a_step_and_its_parts_add_up) {
  const json time = sections_of(training(), report())["time"];
  EXPECT_EQ(time["step_ns"], (json{61, 81, 71, 91}));
  EXPECT_EQ(time["warmup_steps_dropped"], 2);
  const json& m =
      time["median"];  // 71 is the lower one of 71 and 81; rank 1 was the slower one in it
  EXPECT_EQ(m["step_ns"], 71);
  EXPECT_EQ(m["step"], 4);
  EXPECT_EQ(m["rank"], 1);
  EXPECT_EQ(m["forward_ns"], 20);
  EXPECT_EQ(m["backward_ns"], 40);
  std::int64_t sum = 0;
  for (const char* part : {"forward_ns", "recompute_ns", "backward_ns", "clip_ns", "update_ns",
                           "exposed_ns", "other_ns"})
    sum += m[part].get<std::int64_t>();
  EXPECT_EQ(sum, m["step_ns"]);
  ASSERT_EQ(time["samples"].size(), 2u);
  EXPECT_EQ(time["samples"][0]["step_ns"], (json{61, 81, 36, 91}));
  EXPECT_EQ(time["samples"][1]["exposed_ns"], (json{10, 40, 10, 1}));
  EXPECT_EQ(time["samples"][1]["communication_ns"], (json{17, 47, 17, 8}));
  // Whatever the median's breakdown has, each sample has.
  for (const auto& [key, value] : m.items())
    if (key.ends_with("_ns")) {
      EXPECT_TRUE(time["samples"][0].contains(key)) << key;
    }
}

TEST(measured, an_ideal_stands_beside_what_was_hidden) {
  TrainingReport r = report();
  json time = sections_of(training(), r)["time"];
  EXPECT_TRUE(time["median"]["ideal_hidden_ns"].is_null());
  EXPECT_TRUE(time["samples"][0]["ideal_hidden_ns"].is_null());
  EXPECT_EQ(time["samples"][0]["ideal_exposed_ns_reason"],
            time["median"]["ideal_exposed_ns_reason"]);
  for (RankReport& rank : r.ranks) {
    rank.ideal = rank.steps;
    for (std::size_t i = 0; i < rank.ideal.size(); ++i)
      rank.ideal[i].hidden_ns = 100 + static_cast<std::int64_t>(i);
  }
  time = sections_of(training(), r)["time"];
  EXPECT_EQ(time["median"]["ideal_hidden_ns"], 104);  // step 4, as everything else of it
  EXPECT_EQ(time["median"]["ideal_exposed_ns"], 10);
  EXPECT_EQ(time["samples"][1]["ideal_hidden_ns"], (json{102, 103, 104, 105}));
}

TEST(measured, skew_needs_clocks_that_compare) {
  TrainingReport r = report();
  for (RankReport& rank : r.ranks) rank.steps[4].skew_ns = 3;
  EXPECT_EQ(sections_of(training(), r)["time"]["median"]["skew_ns"], 3);
  EXPECT_EQ(sections_of(training(), r)["time"]["samples"][0]["skew_ns"], (json{0, 0, 3, 0}));
  r.clocks_comparable = false;
  const json time = sections_of(training(), r)["time"];
  EXPECT_TRUE(time["median"]["skew_ns"].is_null());
  EXPECT_TRUE(time["samples"][1]["skew_ns"].is_null());
  EXPECT_NE(time["median"].value("skew_ns_reason", ""), "");
}

TEST(measured, each_rank_names_its_host) {
  TrainingReport r = report();
  r.ranks[0].host = "left";
  r.ranks[1].host = "right";
  EXPECT_EQ(sections_of(training(), r)["hosts"], (json{"left", "right"}));
}

TEST(measured, rates_are_of_the_median_step) {
  const json rates = sections_of(training(), report())["rates"];
  EXPECT_DOUBLE_EQ(rates["tokens_per_second"], 142 / 71e-9);
  EXPECT_DOUBLE_EQ(rates["matrix_flops_per_second"], 90 / 45e-9);
  EXPECT_DOUBLE_EQ(rates["matrix_share"], 45.0 / 60);
  EXPECT_DOUBLE_EQ(rates["exposed_share"], 10.0 / 71);
  EXPECT_DOUBLE_EQ(rates["communication_share"], 17.0 / 71);
}

TEST(measured, bytes_stand_beside_formula_and_claim) {
  const json bytes = sections_of(training(), report())["bytes"];
  ASSERT_EQ(bytes["held"].size(), 2u);
  const json &w = bytes["held"][0], &s = bytes["held"][1];
  EXPECT_EQ(w["formula"], "4P");
  EXPECT_EQ(w["textbook_bytes"], 396);
  EXPECT_EQ(w["exact_bytes"], 400);
  EXPECT_EQ(w["measured_bytes"], 400);
  EXPECT_TRUE(s["formula"].is_null());
  EXPECT_EQ(s["formula_reason"], "the textbook counts model states only");
  EXPECT_EQ(bytes["model_state"], (json{{"textbook_bytes", 396.0},
                                        {"exact_bytes", 400.0},
                                        {"measured_bytes", 400},
                                        {"fp32_measured_bytes", 400}}));
  EXPECT_EQ(bytes["peak_bytes"], 440);
}

TEST(measured, resident_memory_is_a_witness) {
  TrainingReport r = report();
  json resident = sections_of(training(), r)["resident"];
  EXPECT_EQ(resident["unexplained_bytes"], 2000 - 1000 - 880);
  EXPECT_DOUBLE_EQ(resident["unexplained_share"], 0.12);
  r.resident_before_bytes = 0;
  resident = sections_of(training(), r)["resident"];
  EXPECT_TRUE(resident["peak_bytes"].is_null());
  EXPECT_FALSE(resident["peak_bytes_reason"].get<std::string>().empty());
}

TEST(measured, what_was_not_measured_is_null_with_a_reason) {
  TrainingReport r = report();
  Training t = training();
  t.options.clip = 0;
  for (RankReport& rank : r.ranks) {
    rank.norm_before.clear();
    rank.norm_after.clear();
    rank.products_ns = 0;
    rank.moved_witness.clear();
  }
  const json s = sections_of(t, r);
  for (const auto& [section, key] : {std::pair("training", "norm_before"),
                                     {"training", "norm_after"},
                                     {"training", "loss_scale"},
                                     {"rates", "matrix_share"},
                                     {"rates", "matrix_flops_per_second"},
                                     {"traffic", "moved_bytes"},
                                     {"traffic", "moved_over_volume"},
                                     {"traffic", "interface"},
                                     {"checks", "norms_agree"},
                                     {"checks", "moved_agrees"}}) {
    EXPECT_TRUE(s[section][key].is_null()) << key;
    EXPECT_TRUE(s[section].contains(std::string(key) + "_reason")) << key;
  }
}

TEST(measured, a_loss_is_the_mean_over_ranks_and_null_where_it_is_no_number) {
  TrainingReport r = report();
  r.ranks[1].loss = {5, 3, 2, 2, 2, std::numeric_limits<double>::quiet_NaN()};
  const json s = sections_of(training(), r);
  EXPECT_EQ(s["training"]["loss"], (json{4.5, 3.0, 2.0, 2.0, 2.0, nullptr}));
  EXPECT_EQ(s["checks"]["loss_finite"], false);
  EXPECT_EQ(s["checks"]["loss_finite_reason"], "the loss of rank 1 was not finite at step 5");
}

struct Fault {
  const char* check;
  const char* reason;
  void (*make)(TrainingReport&);
};

class SelfChecks : public ::testing::TestWithParam<Fault> {};

TEST(self_checks, hold_where_nothing_is_wrong) {
  const json checks = self_checks(training(), report());
  for (const auto& [key, value] : checks.items()) EXPECT_EQ(value, true) << key;
}

TEST_P(SelfChecks, one_fault_turns_one_check_red) {
  TrainingReport r = report();
  GetParam().make(r);
  const json checks = self_checks(training(), r);
  for (const auto& [key, value] : checks.items())
    if (value.is_boolean()) {
      EXPECT_EQ(value, key != GetParam().check) << key;
    }
  EXPECT_EQ(checks.value(GetParam().check + std::string("_reason"), ""), GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(
    faults, SelfChecks,
    ::testing::Values(
        Fault{"ordered", "rank 0: all_gather reads what adamw writes",
              [](TrainingReport& r) { r.disorder = "rank 0: all_gather reads what adamw writes"; }},
        Fault{"bytes_exact", "rank 1 held 404 bytes of parameter f32 where 400 were claimed",
              [](TrainingReport& r) { r.ranks[1].held[weights] = 404; }},
        Fault{"bytes_exact", "rank 0 held 8 bytes of bucket f32 where 0 were claimed",
              [](TrainingReport& r) {
                r.ranks[0].held[{Tag::bucket, DType::f32}] = 8;
              }},
        Fault{"bytes_exact", "rank 0 held 0 bytes of workspace u8 where 50 were claimed",
              [](TrainingReport& r) { r.ranks[0].held.erase(scratch); }},
        Fault{"traffic_exact",
              "rank 1 made 4 calls, 400 bytes of payload and 0 of volume by reduce_scatter f32 in "
              "step 5 where 3 calls, 400 "
              "bytes of payload and 0 of volume were claimed",
              [](TrainingReport& r) { r.ranks[1].traffic_by_step[5][scatter].calls = 4; }},
        Fault{"traffic_exact",
              "rank 0 made 3 calls, 400 bytes of payload and 208 of volume by reduce_scatter f32 "
              "in step 0 where 3 calls, 400 "
              "bytes of payload and 200 of volume were claimed",
              [](TrainingReport& r) {
                r.ranks[0].traffic_by_step[0][scatter].volume += 8;
                r.ranks[0].moved_bytes += 8;
              }},
        Fault{"moved_agrees", "1300 bytes left rank 1 where its ledger says 1200",
              [](TrainingReport& r) { r.ranks[1].moved_bytes += 100; }},
        Fault{
            "ranks_agree",
            "rank 1 ends with parameters of hash 0000000000000abd and rank 0 with 0000000000000abc",
            [](TrainingReport& r) { r.ranks[1].parameter_hash = 0xabd; }},
        Fault{"nothing_left", "rank 0 still held 16 bytes of gathered f32 after the last step",
              [](TrainingReport& r) {
                r.ranks[0].left_over[{Tag::gathered, DType::f32}] = 16;
              }},
        Fault{"norms_agree", "rank 1 saw other gradient norms than rank 0",
              [](TrainingReport& r) { r.ranks[1].norm_before[3] = std::nextafter(5.0, 6.0); }},
        Fault{"loss_finite", "the loss of rank 0 was not finite at step 2", [](TrainingReport& r) {
                r.ranks[0].loss[2] = std::numeric_limits<double>::infinity();
              }}));

TEST(schema, describes_what_is_said_of_the_machine) {
  const json schema = json::parse(embedded("schema.json"));
  const json& said = schema.at("definitions").at("machine").at("properties");
  const json here = machine();
  for (const auto& [key, value] : here.items()) EXPECT_TRUE(said.contains(key)) << key;
  EXPECT_EQ(schema["properties"]["machine"]["$ref"], "#/definitions/machine");
}

TEST(schema, defines_nothing_that_is_not_used) {
  const json schema = json::parse(embedded("schema.json"));
  const std::string text = schema.dump();
  for (const auto& [name, definition] : schema["definitions"].items())
    EXPECT_TRUE(name.ends_with("_record") ||  // a line of its own kind
                text.find("\"#/definitions/" + name + "\"") != std::string::npos)
        << name;
}

}  // namespace
}  // namespace shardmark
