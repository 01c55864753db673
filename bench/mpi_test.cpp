// Do ranks that are processes train alike, however they were started, and when one of them fails,
// does the record say which, and is nothing left of them? See also given_world_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
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

// The ring adds in the same order in all of them.
TEST_F(Mpi, all_ways_in_train_to_the_same_parameters) {
  const std::string cell = small + "--rounds 1 --strategy zero1 --ranks 2 ";
  const std::vector<std::array<std::string, 4>> ways = {
      {"threads", "--comm thread --collectives ring", "", "process"},
      {"built_in", "--comm mpi", "", "process"},
      {"template", "--comm mpi --launcher 'mpirun --oversubscribe -n {ranks}'", "", "process"},
      {"given", "", world, "none"}};
  std::set<std::string> hashes;
  for (const auto& [name, flags, launcher, isolation] : ways) {
    const Ran ran = run(cell + flags + " --out " + name, launcher);
    EXPECT_EQ(ran.code, 0) << name << ran.err;
    const auto all = records(name);
    ASSERT_FALSE(all.empty()) << name << ran.err;
    for (const json& r : all) EXPECT_EQ(testing::schema_errors(r), "") << name;
    EXPECT_EQ(all.back()["status"], "ok") << name;
    EXPECT_EQ(all.back()["isolation"], isolation) << name;
    EXPECT_EQ(all.size(), isolation == "none" ? 2u : 1u) << name;
    EXPECT_EQ(ran.out.find("shardmark  ·"), 0u) << name;
    hashes.insert(all.back()["training"]["parameter_hash"]);
  }
  EXPECT_EQ(hashes.size(), 1u);
}

TEST_F(Mpi, a_rank_that_fails_is_named_with_its_peers_verb_and_step_and_the_matrix_goes_on) {
  const std::string cell =
      small + "--comm mpi --ranks 3 --strategy zero2 --overlap off --comm-timeout 2 ";
  const std::vector<std::pair<std::string, std::vector<std::string>>> faults = {
      {"--inject kill:rank=1,step=3",
       {"rank 1 was ended by SIGKILL (Killed)", "rank 0: ", "collectives, in reduce_scatter of",
        ", step 3"}},
      {"--inject stop:rank=1,step=3",
       {"failed at step 3: waited more than 2 s for its peers", "they waited for rank 1"}},
      {"--inject throw:rank=1,step=3", {"rank 1 failed at step 3: injected: rank 1 throws"}},
      {"--inject abort:rank=2,step=3", {"rank 2 was ended by SIGABRT (Aborted)"}},
      {"--inject stuck:rank=0,step=3 --comm-timeout 60 --timeout 3",
       {"it took longer than its --timeout of 3 s and was ended", "rank 0: ", ", step 3"}},
      {"--inject allocate:rank=1,bytes=8000000000 --memory-limit 300MB",
       {"it exceeded its --memory-limit of 300MB: rank 1 failed at step 0"}}};
  std::string suite = "run: --rounds 1\n";
  for (const auto& [flags, parts] : faults) {
    const bool twice = flags.find("--comm-timeout") != flags.npos;
    suite += (twice ? cell.substr(0, cell.find("--comm-timeout")) : cell) + flags + "\n";
  }
  suite += cell + "\n";
  testing::write(f / "faults.suite", suite);
  const Ran ran = run("--suite faults.suite --out out");
  EXPECT_EQ(ran.code, 1) << ran.err;
  const auto all = records();
  ASSERT_EQ(all.size(), faults.size() + 1);
  for (const json& r : all) {
    EXPECT_EQ(testing::schema_errors(r), "");
    const std::string inject = r["cell"]["inject"];
    if (inject.empty()) {
      EXPECT_EQ(r["status"], "ok") << r["reason"];
    }
    for (const auto& [flags, parts] : faults) {
      if (inject.empty() || flags.find(inject) == flags.npos) continue;
      EXPECT_EQ(r["status"], "failed");
      for (const std::string& part : parts)
        EXPECT_NE(r["reason"].get<std::string>().find(part), std::string::npos)
            << part << " is not in: " << r["reason"];
      // Of the kill: it has no time limit to wait for.
      if (inject.starts_with("kill")) {
        EXPECT_LT(r["wall_ns"], 5'000'000'000);
      }
    }
  }
}

TEST_F(Mpi, nothing_outlives_a_run_that_is_killed_or_interrupted) {
  for (const auto& [signal, code] : {std::pair{SIGKILL, 137}, std::pair{SIGINT, 130}}) {
    Ran ran;
    std::thread job([&] {
      ran = run(small +
                fmt::format("--comm mpi --rounds 1 --strategy ddp --inject stuck:rank=1,step=1 "
                            "--out out{} & echo $! >pid; wait $!; exit $?",
                            code));
    });
    EXPECT_TRUE(within(20, [&] {
      return processes_in(f).count("1") == 1 && fs::exists(f / fmt::format("out{}", code));
    }));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    ::kill(std::stoi(testing::read(f / "pid")), signal);
    job.join();
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_TRUE(within(5, [&] { return processes_in(f).empty() && fs::is_empty(f / "tmp"); }))
        << ran.err;
  }
}

// The guard cannot clean up then, so the run does; and the cell is a failed record.
TEST_F(Mpi, a_guard_that_is_killed_leaves_nothing) {
  Ran ran;
  std::thread job([&] {
    ran = run(small +
              "--comm mpi --rounds 1 --strategy ddp --inject stuck:rank=1,step=1 --out out "
              "& echo $! >pid; wait $!; exit $?");
  });
  EXPECT_TRUE(within(20, [&] { return processes_in(f).count("1") == 1 && fs::exists(f / "out"); }));
  EXPECT_FALSE(fs::is_empty(f / "tmp"));
  const std::string run_pid = std::to_string(std::stoi(testing::read(f / "pid")));
  const pid_t guard =
      std::stoi(testing::read("/proc/" + run_pid + "/task/" + run_pid + "/children"));
  ::kill(guard, SIGKILL);
  job.join();
  EXPECT_EQ(ran.code, 1) << ran.err;
  ASSERT_EQ(records().size(), 1u);
  EXPECT_NE(records()[0]["reason"].get<std::string>().find("guard was ended by SIGKILL"),
            std::string::npos);
  EXPECT_TRUE(within(5, [&] { return processes_in(f).empty(); }));
}

struct BadLauncher {
  const char* flags;
  const char* sentence;
};

TEST_F(Mpi, a_launcher_that_cannot_work_is_one_sentence_and_exit_2_and_nothing_is_written) {
  const std::vector<BadLauncher> bad = {
      {"--ranks 64 --launcher 'mpirun -n {ranks}'",
       "cannot start 64 ranks: there are not enough slots for so many ranks; give more"},
      {"--launcher 'mpirun --host nohost.invalid:2 -n {ranks}'", "cannot start 2 ranks: "},
      {"--launcher 'nosuchrun -n {ranks}'",
       "cannot start 2 ranks: the launcher cannot be started: nosuchrun: No such file"},
      {"--launcher 'mpirun -n {ranks} --hostfile /nosuch'",
       "its hostfile /nosuch cannot be opened"},
      {"--launcher 'mpirun --oversubscribe -n 3 env N={ranks}'",
       "it started 3; --launcher must start as many as {ranks} says"},
      {"--launcher 'echo {ranks}'", "did not start the command that stands behind it"},
      {"--launcher 'sh -c \"exit 3\" {ranks}'", "it ended with exit code 3 and no word"}};
  for (const auto& [flags, sentence] : bad) {
    const Ran ran = run(small + "--strategy ddp --comm mpi " + flags);
    EXPECT_EQ(ran.code, 2) << flags;
    EXPECT_EQ(ran.out, "") << flags;
    EXPECT_NE(ran.err.find(sentence), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.rfind("shardmark: ", 0), 0u) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_FALSE(fs::exists(f / "results")) << flags;
  }
  const Ran no_mpirun = run(small + "--strategy ddp --comm mpi", "PATH=/nonexistent");
  EXPECT_EQ(no_mpirun.code, 2);
  EXPECT_NE(no_mpirun.err.find("there is no mpirun in PATH; install Open MPI"), std::string::npos)
      << no_mpirun.err;
}

}  // namespace
}  // namespace shardmark
