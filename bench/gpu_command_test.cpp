// Does the command, run for real over GPUs that are stand-ins, train on them, say in its records
// and tables what they were, and refuse what they cannot do in a sentence? The binary is the same
// but for kernels/cuda/standin.
#include <gtest/gtest.h>

#include <chrono>

#include "bench/test_support.hpp"
#include "impl/comm/mpi.hpp"

namespace shardmark {
namespace {

using nlohmann::json;
using testing::Folder;
using testing::Ran;

const std::string small =
    "--model gpt:layers=1,width=16,heads=2 --batch 1 --sequence 16 --steps 2 --rounds 1 ";

Ran on(const std::string& machine, const Folder& in, const std::string& arguments) {
  return testing::run(SHARDMARK_ON_STANDIN, in, arguments, "SHARDMARK_STANDIN=" + machine);
}

std::vector<json> records(const Folder& f) {
  return testing::lines_of(f / "results/latest/records.jsonl");
}

TEST(GpuCommand, TrainsOnASharedGpuAndSaysSo) {
  const Folder f;
  const Ran ran =
      on("gpus=1", f, "run --device cuda --strategy ddp,zero3 --ranks 2 --overlap on,off " + small);
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  ASSERT_EQ(records(f).size(), 4u);
  for (const json& r : records(f)) {
    EXPECT_EQ(testing::schema_errors(r), "");
    EXPECT_EQ(r["status"], "ok");
    EXPECT_EQ(r["cell"]["comm"], "thread");
    EXPECT_EQ(r["shared_device"], true);
    EXPECT_EQ(r["checks"]["bytes_exact"], true) << r["checks"];
    ASSERT_EQ(r["gpu"]["cards"].size(), 1u);
    const json& card = r["gpu"]["cards"][0];
    EXPECT_EQ(card["ranks"], (json{0, 1}));
    // The stand-in has nothing but what it was asked for.
    EXPECT_EQ(card["reserved_bytes"], card["driver_bytes"]);
    EXPECT_EQ(card["products_by_tiles"], 0);
    EXPECT_EQ(r["machine"]["gpus"][0]["name"], "stand-in");
  }
  EXPECT_NE(ran.out.find("ddp°"), ran.out.npos) << ran.out;
  EXPECT_NE(ran.out.find("° several ranks share one GPU"), ran.out.npos) << ran.out;
}

TEST(GpuCommand, TrainsByNcclOnAGpuARank) {
  const Folder f;
  const Ran ran = on("gpus=2", f,
                     "run --device cuda --comm nccl --precision fp32,tf32,bf16 --strategy zero2 "
                     "--ranks 2 " +
                         small);
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  ASSERT_EQ(records(f).size(), 3u);
  for (const json& r : records(f)) {
    EXPECT_EQ(testing::schema_errors(r), "");
    EXPECT_EQ(r["shared_device"], false);
    ASSERT_EQ(r["gpu"]["cards"].size(), 2u);
    for (const json& card : r["gpu"]["cards"]) {  // what NCCL takes for three verbs is not a step's
      EXPECT_EQ(card["communicator_bytes"], 3 << 20);
      EXPECT_EQ(card["reserved_bytes"], card["driver_bytes"]);
    }
    EXPECT_EQ(r["cell"]["collectives"], "nccl");
    EXPECT_EQ(r["checks"]["bytes_exact"], true) << r["checks"];
    EXPECT_TRUE(r["traffic"]["moved_bytes"].is_null());  // NCCL does not say
  }
}

TEST(GpuCommand, ACellThatDoesNotFitFailsAndTheOthersGoOn) {
  const Folder f;
  const Ran ran = on("gpus=1,memory=4000000", f,
                     "run --device cuda --strategy ddp --ranks 1 --model "
                     "gpt:layers=1,width=16,heads=2 --batch 1,256 --sequence 16 --steps 2 --rounds "
                     "1");
  EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
  int ok = 0, failed = 0;
  for (const json& r : records(f)) {
    EXPECT_EQ(testing::schema_errors(r), "");
    if (r["status"] == "ok") ++ok;
    if (r["status"] != "failed") continue;
    ++failed;
    EXPECT_NE(r["reason"].get<std::string>().find("out of device memory: "), std::string::npos)
        << r["reason"];
  }
  EXPECT_EQ(ok, 1);
  EXPECT_EQ(failed, 1);
}

TEST(GpuCommand, ListsThem) {
  const Folder f;
  EXPECT_NE(on("gpus=2", f, "list").out.find("stand-in, stand-in; CUDA 13.0"), std::string::npos);
  const std::string none = on("error=no_device", f, "list").out;
  EXPECT_NE(none.find("cuda  absent  no GPU can be used: the driver sees none"), none.npos) << none;
}

struct Wrong {
  const char *machine, *arguments, *sentence;
};
class WrongOnGpus : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongOnGpus, IsOneSentenceAndExit2AndLeavesNothingBehind) {
  const Folder f;
  const Ran ran = on(GetParam().machine, f, "run " + std::string(GetParam().arguments));
  EXPECT_EQ(ran.code, 2) << ran.out << ran.err;
  EXPECT_NE(ran.err.find(GetParam().sentence), ran.err.npos) << ran.err;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  EXPECT_FALSE(std::filesystem::exists(f / "results"));
}

INSTANTIATE_TEST_SUITE_P(
    Each, WrongOnGpus,
    ::testing::Values(
        Wrong{"error=no_device", "--device cuda", "--device cuda: no GPU can be used: the driver"},
        Wrong{"error=old_driver,driver=12020", "--device cuda",
              "the driver knows CUDA up to 12.2, but this shardmark was built with CUDA 13.0"},
        Wrong{"error=old_driver,driver=0", "--device cuda", "there is no NVIDIA driver"},
        Wrong{"major=7", "--device cuda", "built for the architectures 80, 90, but GPU 0"},
        Wrong{"gpus=2", "--device cuda --comm nccl --ranks 3", "3 ranks would share 2 GPUs"},
        Wrong{"gpus=1", "--device cuda --ranks 9", "at most 8"},
        Wrong{"gpus=2,peers=none", "--device cuda --ranks 2",
              "GPU 0 cannot read the memory of GPU 1: take --comm nccl."},
        Wrong{"gpus=1", "--device cuda --comm mpi", "--comm mpi carries the host's memory"},
        Wrong{"gpus=1", "--comm nccl", "which needs --device cuda"},
        Wrong{"gpus=1", "--precision tf32", "which needs --device cuda"},
        Wrong{"gpus=1", "--device cuda --link 1gbit", "neither a --link nor the ring"},
        Wrong{"gpus=1", "--device cuda --all-reduce direct", "--all-reduce direct is there for"},
        Wrong{"gpus=1", "--device cuda --memory-limit 1GB", "--memory-limit limits the host's"},
        Wrong{"gpus=1", "--device cuda --threads-per-rank 2", "the GPU computes"},
        Wrong{"gpus=1", "--profile cupti", "--profile cupti records what GPUs do, which needs"},
        Wrong{"gpus=1", "--device cuda --profile nsys", "--profile is \"nsys\", but must be cupti"},
        Wrong{"gpus=1", "--device cude", "--device"}));

// A rank that dies in NCCL takes the others along, at once and in one sentence.
TEST(GpuCommand, ARankThatFailsEndsTheOthersThatWaitInNccl) {
  const Folder f;
  const Ran ran = on("gpus=2", f,
                     "run --device cuda --comm nccl --strategy ddp --ranks 2 --inject "
                     "throw:rank=1,step=2 " +
                         small);
  EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
  const json r = records(f).at(0);
  EXPECT_EQ(r["status"], "failed");
  EXPECT_NE(r["reason"].get<std::string>().find("rank 1 failed at step"), std::string::npos)
      << r["reason"];
}

TEST(GpuCommand, ARankThatHangsIsGivenUpByItsPeers) {
  const Folder f;
  const Ran ran = on("gpus=2", f,
                     "run --device cuda --comm nccl --strategy ddp --ranks 2 --comm-timeout 2 "
                     "--inject stuck:rank=1,step=2 " +
                         small);
  EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
  const json r = records(f).at(0);
  EXPECT_EQ(r["status"], "failed");
  // Rank 1 hangs in its first backward, so that it is rank 0 that waits, and for rank 1's verbs.
  const std::string why = r["reason"];
  const auto says = [&](const char* text) { return why.find(text) != why.npos; };
  EXPECT_TRUE(says("rank 0 failed at step 2: waited more than 2 s for its peers in all_reduce"))
      << why;
  const std::size_t words = why.find("(rank 0: ");
  ASSERT_NE(words, why.npos) << why;
  EXPECT_TRUE(why.substr(words).find("collectives, in all_reduce of segment") != why.npos) << why;
}

// CUDA runs the host functions of a GPU one after another: a rank that is stuck in one takes the
// ranks on the same GPU along.
TEST(GpuCommand, ARankThatHangsOnASharedGpuIsGivenUpAndItsProcessEnds) {
  const Folder f;
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = on("gpus=1", f,
                     "run --device cuda --strategy ddp --ranks 2 --comm-timeout 2 --inject "
                     "stuck:rank=1,step=2 " +
                         small);
  EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
  const json r = records(f).at(0);
  EXPECT_EQ(r["status"], "failed");
  EXPECT_NE(r["reason"].get<std::string>().find("the GPU's queues have ended no span for more"),
            std::string::npos)
      << r["reason"];
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

// A launcher gives each rank a GPU by what its process sees: they have one number in all, and two
// ranks have one GPU only where it is the same.
class GpuOfAProcess : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!mpi::built()) GTEST_SKIP() << "built without MPI";
  }
  // first: of the GPUs of the host, which each rank sees one of.
  json record_of(const std::string& first) {
    testing::write(f / "each.sh", "SHARDMARK_STANDIN=gpus=1,first=" + first + " exec \"$@\"\n");
    const Ran ran = testing::run(
        SHARDMARK_ON_STANDIN, f,
        "run --device cuda --comm nccl --strategy ddp --ranks 2 --comm-timeout 3 --launcher "
        "'mpirun --oversubscribe -n {ranks} sh each.sh' " +
            small,
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 SHARDMARK_STANDIN=gpus=1");
    EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
    const auto all = records(f);
    return all.empty() ? json{{"reason", "none"}} : all[0];
  }
  const Folder f;
};

TEST_F(GpuOfAProcess, OneThatTwoRanksHaveIsRefused) {
  const std::string reason = record_of("3")["reason"];
  EXPECT_NE(reason.find("ranks 0 and 1 both have GPU 0000:3e:00.0 "), std::string::npos) << reason;
}

// The stand-in's NCCL does not reach another process: they wait there, and are not refused.
TEST_F(GpuOfAProcess, OneOfItsOwnIsNotRefused) {
  const std::string reason = record_of("$OMPI_COMM_WORLD_RANK")["reason"];
  EXPECT_NE(reason.find("NCCL: remote process exited"), std::string::npos) << reason;
}

}  // namespace
}  // namespace shardmark
