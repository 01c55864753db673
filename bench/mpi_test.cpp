// Do ranks that are processes train alike, however they were started, and when one of them fails,
// does the record say which, and is nothing left of them?
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "bench/test_support.hpp"
#include "impl/comm/mpi.hpp"

namespace shardmark {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Folder;
using testing::Ran;

const std::string small = "--model mlp:layers=2,width=64 --batch 1 --sequence 32 --steps 2 ";
const std::string as_root = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ";
const std::string world = as_root + "mpirun --oversubscribe -n 3";

std::set<std::string> shared_memory() {
  std::set<std::string> names;
  std::error_code ignored;
  for (const auto& e : fs::directory_iterator("/dev/shm", ignored)) {
    const std::string name = e.path().filename();
    if (name.starts_with("shardmark-") || name.starts_with("vader")) names.insert(name);
  }
  return names;
}

// Processes of this program that were started in the folder, by the rank that they are.
std::multimap<std::string, pid_t> processes_in(const Folder& f) {
  std::multimap<std::string, pid_t> found;
  std::error_code error;
  for (const auto& e : fs::directory_iterator("/proc", error)) {
    const fs::path exe = fs::read_symlink(e.path() / "exe", error);
    if (error || exe != SHARDMARK_BINARY) continue;
    if (fs::read_symlink(e.path() / "cwd", error) != f.path()) continue;
    const std::string all = testing::read(e.path() / "environ"), key = "OMPI_COMM_WORLD_RANK=";
    const std::size_t at = all.find(key);
    const std::string rank = at == all.npos ? "" : all.c_str() + at + key.size();
    found.emplace(rank, std::stoi(e.path().filename()));
  }
  return found;
}

template <class Condition>
bool within(double seconds, Condition&& holds) {
  const auto begin = std::chrono::steady_clock::now();
  while (!holds()) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::duration<double>(seconds))
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

class Mpi : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!mpi::built()) GTEST_SKIP() << "built without MPI";
    fs::create_directory(f / "tmp");
  }
  // Others may use the machine at the same time: what they have goes away as well.
  void TearDown() override {
    if (!mpi::built()) return;
    EXPECT_TRUE(within(20, [&] {
      const auto now = shared_memory();
      return std::includes(before.begin(), before.end(), now.begin(), now.end());
    })) << "shared memory was left";
    EXPECT_TRUE(within(1, [&] { return processes_in(f).empty(); })) << "processes were left";
    EXPECT_TRUE(fs::is_empty(f / "tmp")) << "temporary files were left";
  }
  Ran run(const std::string& arguments, const std::string& launcher = "") {
    return testing::shardmark(f, "run " + arguments, "export TMPDIR=$PWD/tmp; " + launcher);
  }
  std::vector<json> records(const std::string& folder = "out") {
    return testing::lines_of(f / (folder + "/records.jsonl"));
  }

  const Folder f;
  const std::set<std::string> before = shared_memory();
};

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
  const std::string dead = "--ranks 2 --strategy zero1 --comm-timeout 2 --inject ";
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

}  // namespace
}  // namespace shardmark
