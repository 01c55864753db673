// Does a run say what its GPUs did, at which clocks, and when Nsight is to capture? The command
// runs for real; its GPUs are stand-ins that tell a libcupti of the tests' what they do
// (profilers/cupti_standin.cpp), and the driver is one as well (profilers/driver_standin.cpp).
#include <gtest/gtest.h>

#include "bench/cell.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using nlohmann::json;
using testing::Folder;
using testing::Ran;

const std::string small =
    "--device cuda --model gpt:layers=1,width=16,heads=2 --batch 1 --sequence 16 --steps 2 ";

class GpuProfile : public ::testing::Test {
 protected:
  GpuProfile() {
    namespace fs = std::filesystem;
    fs::create_directory(f / "lib");
    fs::create_symlink(SHARDMARK_DRIVER_STANDIN, f / "lib/libnvidia-ml.so.1");
    fs::create_symlink(SHARDMARK_DRIVER_STANDIN, f / "lib/libcuda.so.1");
    const bool no_recorder = std::string(SHARDMARK_CUPTI_STANDIN).empty();
    for (int major = 12; major < 20 && !no_recorder; ++major)
      fs::create_symlink(SHARDMARK_CUPTI_STANDIN, f / cupti_named(major));
  }
  static std::string cupti_named(int major) { return "lib/libcupti.so." + std::to_string(major); }
  // more: of the environment.
  Ran run(const std::string& arguments, const std::string& more = "") {
    return testing::run(
        SHARDMARK_ON_STANDIN, f, arguments,
        more + " LD_LIBRARY_PATH=lib SHARDMARK_STANDIN=gpus=2,cupti=" SHARDMARK_CUPTI_STANDIN);
  }
  std::vector<json> records() { return testing::lines_of(f / "results/latest/records.jsonl"); }
  Folder f;
};

class Profiled : public GpuProfile {
 protected:
  void SetUp() override {
    if (std::string(SHARDMARK_CUPTI_STANDIN).empty()) GTEST_SKIP() << "built without cupti.h";
  }
};

void expect_parts_add_up(const json& step) {
  std::int64_t sum = 0;
  for (const char* part : {"forward_ns", "recompute_ns", "backward_ns", "clip_ns", "update_ns",
                           "exposed_ns", "other_ns"})
    sum += step[part].get<std::int64_t>();
  EXPECT_EQ(sum, step["step_ns"].get<std::int64_t>()) << step;
}

// Every kernel, copy and set of the stand-in comes from one call of the runtime's, and each verb is
// one kernel: so the counts are those of the ledger of calls.
TEST_F(Profiled, EachActivityIsOfASpanAndEachVerbIsAKernelOfNccl) {
  const Ran ran = run(
      "run --comm nccl --strategy ddp,zero3 --ranks 2 --overlap on,off --profile cupti " + small);
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  ASSERT_EQ(records().size(), 4u);
  for (const json& r : records()) {
    EXPECT_EQ(testing::schema_errors(r), "");
    EXPECT_EQ(r["cell"]["profile"], "cupti");
    const json& p = r["profile"];
    ASSERT_TRUE(p.is_object()) << r["profile_reason"];
    std::uint64_t verbs = 0;
    for (const json& c : r["traffic"]["called"]) verbs += c["calls"].get<std::uint64_t>();
    verbs *= r["traffic"]["total_steps"].get<std::uint64_t>();
    verbs += 3;  // one of each, when the communicator is made
    ASSERT_EQ(p["ranks"].size(), 2u);
    for (const json& rank : p["ranks"]) {
      EXPECT_EQ(rank["nccl"]["count"], verbs);
      EXPECT_EQ(rank["activities"]["count"], rank["calls"]["count"]);
      EXPECT_GT(rank["activities"]["count"], verbs);
      EXPECT_EQ(rank["unattributed"]["count"], 0);
      EXPECT_EQ(rank["idle_spans"], 0);
      EXPECT_EQ(rank["missing"], json::array());
    }
    EXPECT_GT(p["by_activities"]["reduce_ns"], 0);
    EXPECT_GT(p["profiled_over_plain"], 0);
  }
}

// What ran inside of a span is shorter than from its first event to its last, and only that counts.
TEST_F(Profiled, TimesAreOfTheActivities) {
  const Ran ran = run("run --strategy zero1 --ranks 2 --profile cupti --rounds 3 " + small);
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  ASSERT_EQ(records().size(), 1u);  // of one round
  const json r = records()[0], p = r["profile"], median = r["time"]["median"];
  for (const char* part : {"forward_ns", "backward_ns", "update_ns", "reduce_ns", "gather_ns",
                           "communication_ns", "exposed_ns", "other_ns", "step_ns"})
    EXPECT_EQ(p["by_activities"][part], median[part]) << part;
  EXPECT_EQ(p["step"], median["step"]);
  EXPECT_EQ(p["rank"], median["rank"]);
  expect_parts_add_up(p["by_activities"]);
  expect_parts_add_up(p["by_events"]);
  for (const char* part : {"forward_ns", "backward_ns", "update_ns"}) {
    EXPECT_GT(p["by_activities"][part], 0) << part;
    EXPECT_LT(p["by_activities"][part], p["by_events"][part]) << part;
  }
  EXPECT_NE(ran.out.find("profiled: times are not measurements"), ran.out.npos) << ran.out;
  EXPECT_NE(ran.out.find("PROFILE of step"), ran.out.npos) << ran.out;
  const Ran same = testing::shardmark(f, "compare results/latest results/latest");
  EXPECT_NE(same.out.find("a profiled run's times are not measurements"), same.out.npos);
  const Ran exported = testing::shardmark(f, "export --format gbench results/latest");
  EXPECT_NE(exported.err.find("is profiled, and its times are not"), exported.err.npos);
  EXPECT_NE(ran.err.find("ok, profiled"), ran.err.npos) << ran.err;
  EXPECT_NE(ran.err.find("a profiled run makes one round, not the 3 of --rounds"), ran.err.npos);
}

TEST_F(Profiled, WhereAnotherProfilerWatchesTheRunSaysSoAndGoesOn) {
  const Ran ran = run("run --strategy ddp,zero2 --ranks 2 --profile cupti " + small,
                      "CUPTI_STANDIN_IS_TAKEN=1");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  const std::string sentence = "CUPTI records nothing: another profiler or debugger";
  const std::size_t said = ran.err.find(sentence);
  EXPECT_NE(said, ran.err.npos) << ran.err;
  EXPECT_EQ(ran.err.find(sentence, said + 1), ran.err.npos) << ran.err;  // once for all cells
  ASSERT_EQ(records().size(), 2u);
  for (const json& r : records()) {
    EXPECT_EQ(testing::schema_errors(r), "");
    EXPECT_EQ(r["status"], "ok");
    EXPECT_TRUE(r["profile"].is_null());
    EXPECT_TRUE(r["profile_reason"].get<std::string>().starts_with(sentence));
    EXPECT_GT(r["time"]["median"]["step_ns"], 0);
  }
}

TEST_F(GpuProfile, NvmlIsAskedOfEachGpuInTheMeasuredSteps) {
  const Ran ran = run("run --comm nccl --strategy ddp --ranks 2 --rounds 1 " + small);
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  const json r = records().at(0);
  EXPECT_EQ(testing::schema_errors(r), "");
  EXPECT_EQ(r["machine"]["gpu_driver"], "580.65.06");
  const json& cards = r["gpu"]["cards"];
  ASSERT_EQ(cards.size(), 2u);
  const json &known = cards[0]["during"], &unknown = cards[1]["during"];
  EXPECT_GE(known["samples"], 1);
  EXPECT_EQ(known["min_sm_mhz"], 1410);
  EXPECT_EQ(known["median_sm_mhz"], 1410);
  EXPECT_EQ(known["most_sm_mhz"], 1980);
  EXPECT_EQ(known["min_memory_mhz"], 1593);
  EXPECT_EQ(known["max_power_mw"], 698123);
  EXPECT_EQ(known["reasons"], (json{"hw_thermal_slowdown", "sw_power_cap"}));
  EXPECT_EQ(known["max_temperature_c_reason"], "the driver does not tell");
  // The driver knows one GPU only.
  EXPECT_GE(unknown["samples"], 1);
  EXPECT_EQ(unknown["min_sm_mhz_reason"],
            "No clocks of GPU 0000:3c:00.0 are known: NVML answers \"Not Found\".");
  EXPECT_NE(run("list").out.find("clocks of GPUs beside their times; driver 580.65.06"),
            std::string::npos);
}

// Nsight's tools wait for these two calls; ranks that are threads make them once.
TEST_F(GpuProfile, TheMeasuredStepsAreCapturedOnceAProcess) {
  const Ran ran = run("run --strategy ddp,zero1 --ranks 2 --rounds 1 " + small,
                      "DRIVER_STANDIN_LOG=" + (f / "log").string());
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_EQ(testing::read(f / "log"), "start\nstop\nstart\nstop\n");
}

TEST(ProfiledCell, OneThatWasWrittenBeforeThereWasThisCanBeRead) {
  json cell = to_json(Cell{});
  EXPECT_EQ(cell["profile"], "none");
  cell.erase("profile");
  EXPECT_EQ(cell_from_json(cell), Cell{});
}

}  // namespace
}  // namespace shardmark
