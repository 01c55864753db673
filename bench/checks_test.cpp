// Are contradictions between records found, and only those?
#include "bench/checks.hpp"

#include <gtest/gtest.h>

#include "bench/cell.hpp"

namespace shardmark {
namespace {

using nlohmann::json;

json record(const std::string& strategy, bool overlap = true, std::int64_t round = 1,
            std::int64_t accumulate = 1) {
  Cell c;
  c.strategy = strategy;
  c.overlap = overlap;
  c.accumulate = accumulate;
  return {{"cell", to_json(c)},
          {"round", round},
          {"commit", "abc"},
          {"status", "ok"},
          {"corpus", {{"fnv1a64", "1"}}},
          {"training", {{"loss", {3.0, 2.5, 2.0}}, {"parameter_hash", "1111"}}},
          {"checks", {{"bytes_exact", true}}}};
}

std::vector<std::string> found(const std::vector<json>& records) {
  std::vector<std::string> sentences;
  for (const Finding& f : cross_checks(records)) sentences.push_back(f.check + ": " + f.sentence);
  return sentences;
}

TEST(checks, equal_cells_contradict_nothing) {
  const std::vector<json> records = {record("ddp"), record("zero1"), record("zero3", false),
                                     record("ddp", true, 2)};
  EXPECT_TRUE(found(records).empty());
  EXPECT_EQ(compared_groups(records), 1);
  EXPECT_EQ(compared_groups({record("ddp"), record("ddp", true, 2)}),
            0);  // rounds of one cell show nothing about sharding
}

TEST(checks, another_result_is_named_with_its_cell_and_round) {
  json other = record("zero1", false, 2);
  other["training"]["parameter_hash"] = "2222";
  other["training"]["loss"][1] = 2.500000001;
  EXPECT_EQ(found({record("zero2"), record("ddp"), other}),
            (std::vector<std::string>{"same_parameters: gpt-nano/zero1/n2/overlap-off in round 2 "
                                      "ends with other parameters than "
                                      "gpt-nano/ddp/n2/overlap-on in round 1",
                                      "same_loss: gpt-nano/zero1/n2/overlap-off in round 2 has "
                                      "another loss from step 1 on than "
                                      "gpt-nano/ddp/n2/overlap-on in round 1"}));
}

TEST(checks, what_computes_something_else_is_not_compared) {
  const auto differing = [](auto&& change) {
    json other = record("zero1");
    other["training"]["parameter_hash"] = "2222";
    change(other);
    return found({record("ddp"), other});
  };
  for (const char* key : {"model", "ranks", "batch", "sequence", "steps", "warmup", "clip", "lr",
                          "seed", "threads_per_rank"})
    EXPECT_TRUE(differing([&](json& r) { r["cell"][key] = "other"; }).empty()) << key;
  EXPECT_TRUE(differing([](json& r) { r["commit"] = "def"; }).empty());
  EXPECT_TRUE(differing([](json& r) { r["corpus"]["fnv1a64"] = "2"; }).empty());
  EXPECT_TRUE(differing([](json& r) { r["status"] = "failed"; }).empty());
  for (const char* key : {"bucket_bytes", "buckets", "all_reduce", "overlap", "timeout_s",
                          "prefetch", "keep_last", "persist_below", "recompute", "vocab", "config"})
    EXPECT_FALSE(differing([&](json& r) { r["cell"][key] = "other"; }).empty()) << key;
}

TEST(checks, micro_steps_are_added_in_an_order_of_each_strategy) {
  json other = record("zero2", true, 1, 4);
  other["training"]["parameter_hash"] = "2222";
  EXPECT_TRUE(found({record("ddp", true, 1, 4), other}).empty());
  EXPECT_FALSE(found({record("zero2", false, 1, 4), other}).empty());
}

TEST(checks, micro_steps_are_compared_within_a_family) {
  for (const auto& [one, two] : {std::pair("ddp", "zero1"), std::pair("ddp", "zero1_naive"),
                                 std::pair("zero2", "zero3"), std::pair("zero2_naive", "zero3")}) {
    json other = record(two, true, 1, 4);
    other["training"]["parameter_hash"] = "2222";
    EXPECT_EQ(found({record(one, true, 1, 4), other}).size(), 1u) << one << " " << two;
    EXPECT_EQ(compared_groups({record(one, true, 1, 4), other}), 1);
  }
  json unknown = record("mine", true, 1, 4);
  unknown["training"]["parameter_hash"] = "2222";
  EXPECT_TRUE(found({record("ddp", true, 1, 4), record("zero2", true, 1, 4), unknown}).empty());
  unknown["cell"]["accumulate"] = 1;
  EXPECT_EQ(found({record("ddp"), unknown}).size(), 1u);
}

TEST(checks, what_was_not_compared_is_named) {
  EXPECT_EQ(not_compared({record("ddp"), record("zero2")}), "");
  EXPECT_EQ(not_compared({record("ddp", true, 1, 4), record("zero1", true, 1, 4)}), "");
  EXPECT_EQ(not_compared({record("mine", true, 1, 4), record("zero3", true, 1, 4),
                          record("zero1", true, 1, 4), record("ddp", true, 1, 4)}),
            "ddp, zero1 | zero3 | mine");
}

TEST(checks, norms_before_clipping_agree_but_for_the_order_of_adding) {
  const auto with = [](const char* strategy, const json& norms) {
    json r = record(strategy);
    r["training"]["norm_before"] = norms;
    return r;
  };
  const auto ddp = with("ddp", {5.0, 4.0, 3.0});
  EXPECT_TRUE(found({ddp, with("zero1", {5.0, 4.0 * (1 + 5e-13), 3.0})}).empty());
  EXPECT_EQ(found({ddp, with("zero1", {5.0, 4.0, 3.0 * (1 + 2e-12)})}),
            (std::vector<std::string>{
                "same_norms: gpt-nano/zero1/n2/overlap-on in round 1 has another gradient norm "
                "before clipping from step 2 on than gpt-nano/ddp/n2/overlap-on in round 1"}));
  EXPECT_EQ(found({ddp, with("zero1", {5.0, nullptr, 3.0})}).size(), 1u);
  EXPECT_EQ(found({ddp, with("zero1", {5.0, 4.0})}).size(), 1u);
  // A norm that nobody needed was not made.
  EXPECT_TRUE(found({ddp, with("zero1", nullptr)}).empty());
}

// A ring adds in another order: losses to 1e-3, norms to 1e-2, parameters not at all.
TEST(checks, rings_and_libraries_are_compared_but_for_rounding) {
  const auto with = [](const char* strategy, const char* comm, const char* collectives,
                       double factor) {
    json r = record(strategy);
    r["cell"]["comm"] = comm;
    r["cell"]["collectives"] = collectives;
    r["cell"]["id"] = r["cell"]["id"].get<std::string>() + "/" + comm + "/" + collectives;
    r["training"]["loss"][2] = 2.0 * factor;
    r["training"]["norm_before"] = {5.0, 4.0 * factor};
    r["training"]["parameter_hash"] = collectives;
    return r;
  };
  const json ring = with("ddp", "mpi", "ring", 1);
  EXPECT_TRUE(found({ring, with("zero1", "mpi", "ring", 1 + 9e-4)}).empty());
  const auto differing = found({ring, with("zero1", "mpi", "ring", 1 + 2e-3)});
  ASSERT_EQ(differing.size(), 1u);
  EXPECT_EQ(differing[0],
            "same_loss: gpt-nano/zero1/n2/overlap-on/mpi/ring in round 1 has another loss from "
            "step 2 on, by more than 0.001 of it, than gpt-nano/ddp/n2/overlap-on/mpi/ring in "
            "round 1");
  // Between those who add: memory, ring, library.
  EXPECT_TRUE(
      found({with("ddp", "thread", "memory", 1), with("ddp", "mpi", "library", 1)}).empty());
  EXPECT_EQ(found({with("ddp", "thread", "memory", 1), with("ddp", "mpi", "library", 1.02)}).size(),
            2u);
  EXPECT_EQ(compared_groups({ring, with("zero1", "mpi", "ring", 1)}), 0);
  EXPECT_EQ(agreement_text({ring, with("zero1", "mpi", "ring", 1)}),
            "Losses and norms of all cells that compute the same, in whatever order, agree to "
            "rounding.\n");
  EXPECT_EQ(agreement_text({ring}), "");
  // The first norm is that of the same weights.
  json first = with("zero1", "mpi", "ring", 1);
  first["training"]["norm_before"][0] = 5.0 * (1 + 2e-5);
  EXPECT_EQ(found({ring, first}).size(), 1u);
  EXPECT_EQ(agreement_text({record("ddp"), record("zero1")}),
            "Losses and final parameters are equal, bit for bit, in all cells that compute the "
            "same in rank order.\n");
  // Late steps drift apart by themselves.
  json late = ring, drifted = with("zero1", "mpi", "ring", 1);
  for (json* r : {&late, &drifted}) {
    (*r)["training"]["loss"] = std::vector<double>(60, 2.0);
    (*r)["training"].erase("norm_before");
  }
  drifted["training"]["loss"][50] = 3.0;
  EXPECT_TRUE(found({late, drifted}).empty());
  drifted["training"]["loss"][49] = 3.0;
  EXPECT_EQ(found({late, drifted}).size(), 1u);
}

// Where something of 2 bytes is added, each addition may round by 2^-8 of it.
TEST(checks, two_bytes_round_more) {
  const auto with = [](const char* strategy, const char* precision, const char* wire, double norm) {
    json r = record(strategy);
    r["cell"]["collectives"] = "ring";
    r["cell"]["precision"] = precision;
    r["cell"]["reduce_dtype"] = wire;
    r["training"]["norm_before"] = {5.0 * norm, 4.0, 3.0};
    return r;
  };
  for (const auto& [precision, wire] : {std::pair("bf16", "bf16"), std::pair("fp32", "bf16")}) {
    EXPECT_TRUE(
        found({with("ddp", precision, wire, 1), with("zero1", precision, wire, 1.0009)}).empty());
    EXPECT_EQ(
        found({with("ddp", precision, wire, 1), with("zero1", precision, wire, 1.005)}).size(), 1u);
  }
  EXPECT_EQ(found({with("ddp", "fp32", "fp32", 1), with("zero1", "fp32", "fp32", 1.003)}).size(),
            1u);
}

// A hop of the ring may overflow f16 where a sum in f32 does not: then the scales part.
TEST(checks, where_scales_part_comparing_ends) {
  const auto with = [](const char* strategy, const json& skipped, double loss) {
    json r = record(strategy);
    r["cell"]["collectives"] = "ring";
    r["cell"]["precision"] = "fp16";
    r["training"]["loss"] = {3.0, 2.5 * loss, 2.0};
    r["training"]["norm_before"] = {5.0, 4.0, 3.0};
    for (const json& step : skipped)
      r["training"]["norm_before"][step.get<std::size_t>()] = nullptr;
    r["training"]["loss_scale"] = {8.0, 4.0, 2.0};
    r["training"]["skipped_at"] = skipped;
    return r;
  };
  const json none = json::array(), first = {0}, second = {1};
  EXPECT_TRUE(found({with("ddp", first, 1), with("zero1", first, 1)}).empty());
  EXPECT_TRUE(found({with("ddp", none, 1), with("zero1", second, 1.5)}).empty());
  EXPECT_EQ(found({with("ddp", first, 1), with("zero1", first, 1.5)}).size(), 1u);
  // Without scaling nothing may be skipped by one alone.
  json unscaled = with("zero1", second, 1);
  unscaled["training"]["loss_scale"] = nullptr;
  EXPECT_FALSE(found({with("ddp", none, 1), unscaled}).empty());
}

TEST(checks, a_check_of_a_single_record_comes_with_its_reason) {
  json bad = record("zero1", true, 3);
  bad["checks"] = {{"bytes_exact", false}, {"bytes_exact_reason", "why"}, {"norms_agree", nullptr}};
  json failed = record("zero2");
  failed["checks"] = nullptr;
  const auto findings = failed_checks({record("ddp"), bad, failed});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].cell, "gpt-nano/zero1/n2/overlap-on");
  EXPECT_EQ(findings[0].round, 3);
  EXPECT_EQ(findings[0].check, "bytes_exact");
  EXPECT_EQ(findings[0].sentence, "why");
}

// Parameters that never changed are equal, which shows nothing.
TEST(checks, what_was_not_trained_is_not_said_to_agree) {
  std::vector<json> records = {record("ddp"), record("zero1")};
  EXPECT_NE(agreement_text(records), "");
  for (json& r : records) r["checks"]["trained"] = false;
  EXPECT_EQ(agreement_text(records), "");
  EXPECT_EQ(failed_checks(records).size(), 2u);
}

}  // namespace
}  // namespace shardmark
