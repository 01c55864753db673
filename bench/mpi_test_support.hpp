#pragma once
// What do the tests share that start ranks as processes? A folder, runs in it, and afterwards the
// question whether anything is left of them: processes, temporary files, shared memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "bench/test_support.hpp"
#include "impl/comm/mpi.hpp"

namespace shardmark::testing {

inline const std::string small = "--model mlp:layers=2,width=64 --batch 1 --sequence 32 --steps 2 ";
inline const std::string as_root = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ";
inline const std::string world = as_root + "mpirun --oversubscribe -n 3";

inline std::set<std::string> shared_memory() {
  std::set<std::string> names;
  std::error_code ignored;
  for (const auto& e : std::filesystem::directory_iterator("/dev/shm", ignored)) {
    const std::string name = e.path().filename();
    if (name.starts_with("shardmark-") || name.starts_with("vader")) names.insert(name);
  }
  return names;
}

// Processes of this program that were started in the folder, by the rank that they are.
inline std::multimap<std::string, pid_t> processes_in(const Folder& f) {
  std::multimap<std::string, pid_t> found;
  std::error_code error;
  for (const auto& e : std::filesystem::directory_iterator("/proc", error)) {
    const std::filesystem::path exe = std::filesystem::read_symlink(e.path() / "exe", error);
    if (error || exe != SHARDMARK_BINARY) continue;
    if (std::filesystem::read_symlink(e.path() / "cwd", error) != f.path()) continue;
    const std::string all = read(e.path() / "environ"), key = "OMPI_COMM_WORLD_RANK=";
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
    std::filesystem::create_directory(f / "tmp");
  }
  // Others may use the machine at the same time: what they have goes away as well.
  void TearDown() override {
    if (!mpi::built()) return;
    EXPECT_TRUE(within(20, [&] {
      const auto now = shared_memory();
      return std::includes(before.begin(), before.end(), now.begin(), now.end());
    })) << "shared memory was left";
    EXPECT_TRUE(within(1, [&] { return processes_in(f).empty(); })) << "processes were left";
    EXPECT_TRUE(std::filesystem::is_empty(f / "tmp")) << "temporary files were left";
  }
  Ran run(const std::string& arguments, const std::string& launcher = "") {
    return shardmark(f, "run " + arguments, "export TMPDIR=$PWD/tmp; " + launcher);
  }
  std::vector<nlohmann::json> records(const std::string& folder = "out") {
    return lines_of(f / (folder + "/records.jsonl"));
  }

  const Folder f;
  const std::set<std::string> before = shared_memory();
};

}  // namespace shardmark::testing
