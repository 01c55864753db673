// What is left when a cell, the disk or the user ends a run early? Everything that was finished;
// everything else is named.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using nlohmann::json;
using testing::Folder;
using testing::Ran;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;  // whose own memory is more than any limit here
#else
constexpr bool sanitized = false;
#endif

const std::string small = "--model mlp:layers=2,width=64 --batch 1 --sequence 32 --steps 2";

TEST(faults, a_cell_that_fails_is_recorded_with_the_reason_and_the_others_complete) {
  const Folder f;
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"--inject throw:rank=1,step=2", "injected: rank 1 throws"},
      {"--inject abort:rank=1,step=2", "it was ended by SIGABRT (Aborted)"},
      {"--inject stuck:rank=1,step=2 --timeout 1.5",
       "it took longer than its --timeout of 1.5 s and was ended"},
      {"--inject stuck:rank=1,step=2 --comm-timeout 0.5", "waited more than 0.5 s for its peers"},
      {"--inject allocate:rank=0,bytes=8000000000 --memory-limit 300MB",
       "it exceeded its --memory-limit of 300MB"}};
  std::string suite = "run: --rounds 2\n" + small + " --strategy ddp,zero1\n";
  for (const auto& [flags, reason] : faults)
    if (!sanitized || flags.find("memory") == flags.npos)
      suite += small + " --strategy zero2 " + flags + "\n";
  testing::write(f / "faults.suite", suite);
  const Ran ran = testing::shardmark(f, "run --suite faults.suite --out out");
  EXPECT_EQ(ran.code, 1) << ran.err;
  int ok = 0, skipped = 0;
  std::vector<std::string> reasons;
  for (const json& r : testing::lines_of(f / "out/records.jsonl")) {
    EXPECT_EQ(testing::schema_errors(r), "") << r["cell"]["id"];
    if (r["status"] == "ok") ++ok;
    if (r["status"] == "skipped") ++skipped;
    if (r["status"] == "skipped") {
      EXPECT_EQ(r["reason"], "it failed in round 1");
    }
    if (r["status"] == "failed") reasons.push_back(r["reason"]);
  }
  EXPECT_EQ(ok, 4);
  EXPECT_EQ(reasons.size(), sanitized ? faults.size() - 1 : faults.size());
  EXPECT_EQ(skipped, static_cast<int>(reasons.size()));
  for (const auto& [flags, reason] : faults) {
    if (sanitized && flags.find("memory") != flags.npos) continue;
    EXPECT_TRUE(std::any_of(reasons.begin(), reasons.end(),
                            [&](const std::string& r) { return r.find(reason) != r.npos; }))
        << reason << " is none of\n"
        << fmt::format("{}", fmt::join(reasons, "\n"));
  }
}

TEST(faults, a_crash_is_named_by_its_signal) {
  if (sanitized) GTEST_SKIP() << "a sanitizer catches this signal and exits";
  const Folder f;
  // The child is found by its place below the run and gets the signal from outside, as from a fault
  // of its own.
  const Ran ran = testing::shardmark(
      f, "run " + small +
             " --rounds 1 --strategy ddp --inject stuck:rank=0,step=1 --out out & pid=$!; sleep 1; "
             "for c in $(cat /proc/$pid/task/$pid/children); do kill -SEGV $c; done; wait $pid; "
             "exit $?");
  const auto records = testing::lines_of(f / "out/records.jsonl");
  ASSERT_EQ(records.size(), 1u) << ran.err;
  EXPECT_EQ(records[0]["status"], "failed");
  EXPECT_NE(
      records[0]["reason"].get<std::string>().find("it was ended by SIGSEGV (Segmentation fault)"),
      std::string::npos)
      << records[0]["reason"];
}

TEST(faults, an_interrupt_ends_the_children_and_keeps_the_records) {
  const Folder f;
  testing::write(f / "long.suite", "run: --rounds 2\n" + small + " --strategy ddp\n" + small +
                                       " --strategy zero1 --inject stuck:rank=0,step=1\n");
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran =
      testing::shardmark(f,
                         "run --suite long.suite --order-seed 1 --out out & pid=$!; sleep 1.5; "
                         "c=$(cat /proc/$pid/task/$pid/children); kill -INT $pid; "
                         "wait $pid; code=$?; kill -0 $c 2>/dev/null && echo alive; exit $code");
  // The stuck cell by itself would end after a minute.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_EQ(ran.code, 130) << ran.err;
  EXPECT_EQ(ran.out.find("alive"), std::string::npos);
  EXPECT_NE(ran.err.find("go on with: shardmark run --resume out"), std::string::npos) << ran.err;
  for (const json& r : testing::lines_of(f / "out/records.jsonl")) EXPECT_EQ(r["status"], "ok");
}

// The parent is held while the cell ends and the signal comes, so that it finds both at once.
// Few steps: an answer of more than a pipe's 64 kB would wait for the parent.
TEST(faults, a_cell_that_ends_as_the_interrupt_comes_is_kept) {
  const Folder f;
  const Ran ran = testing::shardmark(
      f, "run " + small +
             " --warmup 100 --rounds 2 --strategy ddp --out out & pid=$!; i=0; "
             "until c=$(cat /proc/$pid/task/$pid/children) && [ -n \"$c\" ] || "
             "[ $((i += 1)) -gt 3000 ]; do :; done; kill -STOP $pid; i=0; "
             "until grep -q '^State:.Z' /proc/$(echo $c)/status || [ $((i += 1)) -gt 200 ]; "
             "do sleep 0.05; done; kill -INT $pid; kill -CONT $pid; wait $pid; exit $?");
  EXPECT_EQ(ran.code, 130) << ran.err;
  const auto records = testing::lines_of(f / "out/records.jsonl");
  ASSERT_EQ(records.size(), 1u) << ran.err;
  EXPECT_EQ(records[0]["status"], "ok");
}

TEST(faults, resume_goes_on_and_then_explains) {
  const Folder f;
  ASSERT_EQ(
      testing::shardmark(f, "run " + small + " --rounds 1 --strategy ddp,zero1 --out out").code, 0);
  const auto records = testing::lines_of(f / "out/records.jsonl");
  testing::write(f / "out/records.jsonl", records[0].dump() + '\n');
  const std::string id = records[1]["cell"]["id"];
  const Ran ran = testing::shardmark(f, "run --resume out --explain " + id);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(testing::lines_of(f / "out/records.jsonl").size(), 2u);
  const Ran alone = testing::shardmark(f, "run --out out --explain " + id);
  EXPECT_NE(alone.out, "");
  EXPECT_NE(ran.out.find(alone.out), std::string::npos);
}

TEST(faults, a_full_disk_is_one_sentence_and_tears_nothing_and_the_run_can_go_on) {
  const Folder f;
  // The shell counts in blocks of 512 or 1024 bytes, and a record has some 8 kB: two to five fit.
  const Ran full = testing::shardmark(
      f, "run " + small + " --rounds 1 --strategy all --overlap off,on --out out", "ulimit -f 40;");
  EXPECT_EQ(full.code, 1) << full.err;
  EXPECT_NE(full.err.find("a record could not be written to out/records.jsonl: File too large; the "
                          "records before it are whole."),
            std::string::npos)
      << full.err;
  const auto kept = testing::lines_of(f / "out/records.jsonl");
  EXPECT_GE(kept.size(), 1u);
  EXPECT_LT(kept.size(), 12u);
  for (const json& r : kept) EXPECT_EQ(testing::schema_errors(r), "");

  const std::string before = testing::read(f / "out/records.jsonl");
  const Ran resumed = testing::shardmark(f, "run --resume out");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  const std::string after = testing::read(f / "out/records.jsonl");
  EXPECT_EQ(after.compare(0, before.size(), before),
            0);  // what was there is there, and was not run again
  EXPECT_EQ(testing::lines_of(f / "out/records.jsonl").size(), 12u);
}

TEST(faults, resume_after_a_torn_line_runs_that_cell_again) {
  const Folder f;
  ASSERT_EQ(
      testing::shardmark(f, "run " + small + " --rounds 2 --strategy ddp,zero1 --out out").code, 0);
  const std::string whole = testing::read(f / "out/records.jsonl");
  testing::write(f / "out/records.jsonl", whole.substr(0, whole.size() - 20));
  const Ran ran = testing::shardmark(f, "run --resume out");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("line 4 is torn"), std::string::npos) << ran.err;
  EXPECT_EQ(testing::lines_of(f / "out/records.jsonl").size(), 4u);
}

TEST(faults, resume_runs_what_failed_again) {
  const Folder f;
  const std::string flags = " --rounds 1 --strategy ddp,zero1 ";
  ASSERT_EQ(testing::shardmark(f, "run " + small + flags + "--out out").code, 0);
  auto records = testing::lines_of(f / "out/records.jsonl");
  records[1]["status"] = "failed";
  testing::write(f / "out/records.jsonl", records[0].dump() + '\n' + records[1].dump() + '\n');
  const Ran ran = testing::shardmark(f, "run --resume out");
  EXPECT_EQ(ran.code, 0) << ran.out;
  const auto after = testing::lines_of(f / "out/records.jsonl");
  ASSERT_EQ(after.size(), 3u);
  EXPECT_EQ(after[2]["cell"], records[1]["cell"]);
}

TEST(faults, resume_refuses_records_of_another_schema) {
  const Folder f;
  ASSERT_EQ(testing::shardmark(f, "run " + small + " --rounds 1 --strategy ddp --out out").code, 0);
  json record = testing::lines_of(f / "out/records.jsonl").at(0);
  record["schema_version"] = 99;
  const std::string other = record.dump() + '\n';
  testing::write(f / "out/records.jsonl", other);
  const Ran ran = testing::shardmark(f, "run --resume out");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("its schema_version is 99, and this build reads 1"), std::string::npos)
      << ran.err;
  EXPECT_EQ(testing::read(f / "out/records.jsonl"), other);
}

}  // namespace
}  // namespace shardmark
