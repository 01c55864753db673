// Is a run kept under the name of its machines, once, and only where it can be repeated?
#include <gtest/gtest.h>

#include "bench/baseline.hpp"
#include "bench/compare_side.hpp"
#include "bench/example_records.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using example::has;
using nlohmann::json;
using testing::Folder;
using testing::Ran;

const std::string commit(40, 'a');

json machine_named(const char* cpu) {
  return {{"architecture", "x86_64"},
          {"instruction_set", "avx512"},
          {"cpu", cpu},
          {"cores_usable", 4},
          {"libraries", {{"matrix", "oneDNN 3.1"}}},
          {"build", {{"compiler", "g++ 13.2.0"}}}};
}

TEST(a_machine_class, is_what_a_folder_may_be_called) {
  EXPECT_EQ(machine_class(machine_named("Intel(R) Xeon(R) Platinum 8275CL CPU @ 3.00GHz")),
            "x86_64-avx512-intel-xeon-platinum-8275cl-4c-onednn-3.1-g++-13.2.0");
  EXPECT_EQ(machine_class(machine_named("AMD EPYC-Rome Processor")),
            "x86_64-avx512-amd-epyc-rome-4c-onednn-3.1-g++-13.2.0");
  EXPECT_EQ(machine_class(machine_named("../etc/a b")).find('/'), std::string::npos);
  json nameless = machine_named("x");
  nameless["cpu"] = nullptr;
  EXPECT_EQ(machine_class(nameless), "x86_64-avx512-unknown-4c-onednn-3.1-g++-13.2.0");
}

TEST(a_machine_class, is_another_one_where_times_or_last_digits_may_be) {
  const std::string usual = machine_class(machine_named("A"));
  json m = machine_named("A");
  m["cores_usable"] = 8;
  EXPECT_NE(machine_class(m), usual);
  m = machine_named("A");
  m["libraries"]["matrix"] = "none";
  EXPECT_NE(machine_class(m), usual);
  m = machine_named("A");
  m["libraries"]["fmt"] = "9";
  EXPECT_EQ(machine_class(m), usual);
}

class Baseline : public ::testing::Test {
 protected:
  Baseline() {
    for (int round = 1; round <= 2; ++round) {
      json r = example::record_of("zero1", true, round, 100);
      r["suite"] = "gate";
      r["commit"] = commit;
      r["dirty"] = false;
      r["run"] = "first";
      records.push_back(r);
    }
  }
  void write() const {
    std::string text;
    for (const json& r : records) text += r.dump() + "\n";
    testing::write(f / "run.jsonl", text);
  }
  Ran keep(const std::string& more = "") {
    write();
    return testing::shardmark(f, "baseline run.jsonl --to kept " + more);
  }
  std::filesystem::path file() const {
    return f / ("kept/" + machine_class(records[0]["machine"]) + "/gate.jsonl");
  }
  Folder f;
  std::vector<json> records;
};

TEST_F(Baseline, keeps_runs_one_behind_another) {
  ASSERT_EQ(keep().code, 0);
  const std::string first = testing::read(file());
  EXPECT_EQ(testing::lines_of(file()).size(), 2u);
  for (json& r : records) r["commit"] = std::string(40, 'b'), r["run"] = "second";
  const Ran ran = keep();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "2 records of commit bbbbbbbbbb added to kept/")) << ran.out;
  EXPECT_TRUE(testing::read(file()).starts_with(first)) << "lines are only added";
  EXPECT_EQ(testing::lines_of(file()).size(), 4u);
  for (const json& r : testing::lines_of(file())) EXPECT_EQ(testing::schema_errors(r), "");
}

TEST_F(Baseline, is_read_as_its_last_run) {
  ASSERT_EQ(keep().code, 0);
  records.pop_back();
  records[0]["commit"] = std::string(40, 'b'), records[0]["run"] = "second";
  ASSERT_EQ(keep().code, 0);
  const Side side = read_side("BASE", file());
  ASSERT_EQ(side.cells.size(), 1u);
  EXPECT_EQ(side.cells.begin()->second.step_ns.size(), 1u);
  ASSERT_EQ(side.warnings.size(), 1u);
  EXPECT_TRUE(has(side.warnings[0], "holds several runs; the last one is read, second"));
  EXPECT_EQ(side.commit, "bbbbbbbbbb");
}

TEST_F(Baseline, takes_a_commit_once) {
  ASSERT_EQ(keep().code, 0);
  const Ran ran = keep();
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(has(ran.err, "has a run of commit aaaaaaaaaa already")) << ran.err;
  EXPECT_EQ(testing::lines_of(file()).size(), 2u);
  EXPECT_EQ(keep("--again").code, 0);
  EXPECT_EQ(testing::lines_of(file()).size(), 4u);
}

TEST_F(Baseline, refuses_what_nobody_could_repeat) {
  const auto refused = [&](const std::function<void(json&)>& change, const char* sentence) {
    const std::vector<json> before = records;
    change(records[1]);
    const Ran ran = keep();
    EXPECT_EQ(ran.code, 2) << sentence;
    EXPECT_TRUE(has(ran.err, sentence)) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(f / "kept"));
    records = before;
  };
  refused([](json& r) { r["dirty"] = true; }, "built from a tree with changes");
  refused([](json& r) { r["commit"] = std::string(40, 'c'); }, "more than one commit");
  refused([](json& r) { r["suite"] = "smoke"; }, "more than one suite");
  refused([](json& r) { r["machine"]["cpu"] = "another"; }, "machines of two classes");
  refused([](json& r) { example::set_failed(r, "failed", "no luck"); }, "did not end: no luck");
  refused([](json& r) { r["schema_version"] = 99; }, "99");
  for (json& r : records) r["suite"] = "flags";
  refused([](json&) {}, "run it with --suite");
}

}  // namespace
}  // namespace shardmark
