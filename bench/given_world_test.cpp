// In a world that a launcher gave, do cells run and end as they should, are those without work
// asleep, and does the next job know what became of the cell that the last one ended in?
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "bench/mpi_test_support.hpp"

namespace shardmark {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Mpi;
using testing::processes_in;
using testing::Ran;
using testing::small;
using testing::within;
using testing::world;

TEST_F(Mpi, wrong_input_in_a_given_world_is_said_once_and_exit_2) {
  for (const auto& [flags, sentence] :
       {std::pair{"--rank 2", "shardmark run has no flag --rank"},
        std::pair{"--ranks 4", "--ranks is 4, but a launcher has started this program as one of 3"},
        std::pair{"--strategy zero11", "did you mean zero1?"}}) {
    const Ran ran = run(flags, world);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_EQ(ran.out, "");
    const std::size_t at = ran.err.find(sentence);
    ASSERT_NE(at, std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find(sentence, at + 1), std::string::npos) << ran.err;
    EXPECT_FALSE(fs::exists(f / "results")) << flags;
  }
}

// Cells of fewer ranks leave the others asleep.
TEST_F(Mpi, ranks_without_a_cell_use_no_time) {
  std::thread job([&] {
    run(small + "--rounds 1 --strategy ddp --ranks 1 --inject delay:rank=0,ms=400 --out out",
        world);
  });
  std::multimap<std::string, pid_t> found;
  EXPECT_TRUE(within(20, [&] {
    found = processes_in(f);
    return found.count("2") == 1 && fs::exists(f / "out/records.jsonl");
  }));
  const auto used_s = [&] {
    if (found.count("2") == 0) return 0.0;
    std::ifstream stat(fmt::format("/proc/{}/stat", found.find("2")->second));
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    std::istringstream rest(text.substr(text.rfind(')') + 1));
    std::string skipped;
    for (int i = 3; i < 14; ++i) rest >> skipped;
    double user = 0, system = 0;
    rest >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double begin = used_s();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const double share = used_s() - begin;
  EXPECT_EQ(processes_in(f).count("2"), 1u);  // it still ran
  EXPECT_LE(share, 0.05);
  job.join();
}

TEST_F(Mpi, a_job_that_dies_in_a_given_world_is_gone_on_with_and_the_dead_cell_is_named) {
  const std::string dead = "--ranks 2 --strategy zero1 --overlap off --comm-timeout 2 --inject ";
  for (const std::string& with : {world, std::string()}) {
    for (const std::string kind : {"kill", "throw"}) {
      const std::string out = kind + (with.empty() ? "1" : "2");
      testing::write(f / "dead.suite", "run: --rounds 2\n" + small +
                                           "--strategy ddp --ranks 2,3\n" + small + dead + kind +
                                           ":rank=1,step=3\n");
      const Ran died = run("--suite dead.suite --out " + out, world);
      EXPECT_NE(died.code, 0);
      EXPECT_NE(died.err.find("go on behind it with --resume"), std::string::npos) << died.err;
      EXPECT_EQ(records(out).back()["status"], "started");
      const Ran resumed = run("--resume " + out, with);
      EXPECT_EQ(resumed.code, 1) << resumed.err;
      int ok = 0, skipped = 0;
      std::string reason;
      for (const json& r : records(out)) {
        EXPECT_EQ(testing::schema_errors(r), "");
        ok += r["status"] == "ok";
        skipped += r["status"] == "skipped";
        if (r["status"] == "failed") reason = r["reason"];
      }
      EXPECT_EQ(ok, 4) << out;
      EXPECT_EQ(skipped, 1) << out;
      const std::string named = kind == "kill" ? "rank 1 gave no last words; rank 0: "
                                               : "rank 1 failed at step 3: injected: rank 1 throws";
      EXPECT_NE(reason.find(named), std::string::npos) << reason;
      EXPECT_NE(reason.find(", step 3"), std::string::npos) << reason;
    }
  }
}

// Ctrl-C or the end of a job's time is no fault of the cell that ran: it is tried again at once.
TEST_F(Mpi, a_cell_during_which_the_job_was_asked_to_end_runs_again) {
  const std::string few = small.substr(0, small.find("--steps"));
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string out = fmt::format("out{}", signal);
    std::thread job([&] {
      run(few +
              "--steps 40 --rounds 1 --strategy ddp --ranks 2 --inject delay:rank=0,ms=20 "
              "--out " +
              out + " & echo $! >pid; wait $!",
          world);
    });
    EXPECT_TRUE(within(20, [&] { return fs::exists(f / (out + "/records.jsonl")); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    ::kill(std::stoi(testing::read(f / "pid")), signal);
    job.join();
    ASSERT_EQ(records(out).size(), 1u);
    EXPECT_EQ(records(out)[0]["status"], "started");
    const Ran resumed = run("--resume " + out);
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    const auto all = records(out);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[1]["status"], "skipped");
    EXPECT_EQ(all[1]["reason"], "the job was asked to end while it ran");
    EXPECT_EQ(all[2]["status"], "ok");
    for (const json& r : all) EXPECT_EQ(testing::schema_errors(r), "");
  }
}

// Both cells run in the same processes; what the first one held says nothing of the second.
TEST_F(Mpi, a_cell_does_not_answer_for_the_memory_of_the_one_before) {
  const std::string allocates = "--inject allocate:rank=0,bytes=400000000 ";
  const std::string cell = small + "--strategy ddp --ranks 2 ";
  testing::write(f / "two.suite",
                 "run: --rounds 1\n" + cell + allocates + "\n" + cell + "--memory-limit 300MB\n");
  std::int64_t first = 0, second = 0;
  bool reversed = true;
  for (const char* seed : {"1", "2", "3", "4"}) {  // the order follows from the seed
    const std::string out = std::string("out") + seed;
    const Ran ran =
        run("--suite two.suite --order-seed " + std::string(seed) + " --out " + out, world);
    ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
    const auto all = records(out);
    ASSERT_EQ(all.size(), 4u);
    if (all[1]["cell"]["inject"] == "") continue;
    reversed = false;
    if (all[3]["resident"]["peak_bytes"].is_null())
      GTEST_SKIP() << "nobody may reset the mark here";
    first = all[1]["resident"]["peak_bytes"];
    second = all[3]["resident"]["peak_bytes"];
    break;
  }
  EXPECT_FALSE(reversed);
  EXPECT_GT(first, 400'000'000);
  EXPECT_LT(second, first - 300'000'000);
}

TEST_F(Mpi, collectives_in_a_given_world_say_once_that_they_start_their_ranks) {
  const Ran ran = testing::shardmark(f, "collectives", "export TMPDIR=$PWD/tmp; " + world);
  EXPECT_EQ(ran.code, 2);
  const std::string sentence = "shardmark collectives starts its ranks itself";
  const std::size_t at = ran.err.find(sentence);
  ASSERT_NE(at, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find(sentence, at + 1), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace shardmark
