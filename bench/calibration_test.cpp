// Does `doctor -o` measure all that a prediction of this machine's own runs asks for, and can the
// other commands read what it wrote?
#include <gtest/gtest.h>

#include <set>

#include "bench/cluster_file.hpp"
#include "bench/test_support.hpp"
#include "impl/dry_run.hpp"

namespace shardmark {
namespace {

// Of steps: not what is done once before the first one; and collectives have costs of their own.
std::set<std::string> kinds_of(const std::string& model, const std::string& strategy, DType type) {
  Training t;
  t.model = model, t.strategy = strategy, t.ranks = 2;
  t.options.precision = precision_in(type, type);
  t.options.clip = 1;
  std::set<std::string> kinds;
  const auto ns = [&kinds](const Op& op) {
    const bool once = std::holds_alternative<Fill>(op) || std::holds_alternative<RotaryTable>(op);
    if (!once && !std::holds_alternative<Transfer>(op)) kinds.insert(kind_of(op));
    return 1.0;
  };
  dry_run(t, {.steps = 2, .check_order = false, .clock = {ns, 1}});
  return kinds;
}

TEST(Calibration, EveryOpAndVerbOfTheUsualModelsIsMeasured) {
  const testing::Folder f;
  const auto ran = testing::shardmark(f, "doctor -o machine.json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Cluster c = cluster_of("--cluster", (f / "machine.json").string());
  EXPECT_FALSE(c.cpu.empty());
  for (const char* strategy : {"ddp", "zero3"}) {
    for (const char* model : {"gpt-nano", "llama-nano", "mlp:layers=3,width=24"})
      for (const std::string& kind : kinds_of(model, strategy, DType::f32))
        EXPECT_TRUE(c.ops.contains(kind)) << kind;
    for (const DType type : {DType::bf16, DType::f16})
      for (const std::string& kind : kinds_of("gpt-nano", strategy, type))
        EXPECT_TRUE(c.ops.contains(kind)) << kind;
  }
  for (const auto& [kind, cost] : c.ops)
    EXPECT_GT(cost.launch_ns + cost.ns_per_flop + cost.ns_per_byte + cost.ns_per_cold_byte, 0)
        << kind;
  for (const Verb verb : {Verb::all_reduce, Verb::reduce_scatter, Verb::all_gather})
    EXPECT_EQ(c.verbs.contains(verb), c.gpus_per_node > 1) << name(verb);
  // A cell with fewer threads than cores is scored wherever this runs.
  const auto run = testing::shardmark(
      f,
      "run --model gpt-nano --strategy ddp --ranks 1 --overlap off --batch 1 --steps 2 "
      "--rounds 1");
  ASSERT_EQ(run.code, 0) << run.err;
  const auto scored =
      testing::shardmark(f, "score results/latest --cluster ./machine.json --format json");
  EXPECT_EQ(scored.code, 0) << scored.err << scored.out;
  EXPECT_EQ(nlohmann::json::parse(scored.out).at("scored"), 1);
}

}  // namespace
}  // namespace shardmark
