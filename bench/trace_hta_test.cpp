// Does an analyzer of PyTorch's traces find in ours what we say ourselves? HolisticTraceAnalysis
// (PyPI), where some python has it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "bench/trace_reading.hpp"

namespace shardmark {
namespace {

using nlohmann::json;
using testing::recorded;

std::string python() {
  const char* named = std::getenv("SHARDMARK_HTA_PYTHON");
  return named ? named : "python3";
}

TEST(trace_hta, its_overlap_is_ours) {
  if (std::system((python() + " -c 'import hta.trace_analysis' >/dev/null 2>&1").c_str()) != 0)
    GTEST_SKIP() << python()
                 << " has no HolisticTraceAnalysis; SHARDMARK_HTA_PYTHON names one that has it";
  const testing::Folder f;
  // A slow wire, so that there is something to hide.
  const auto ran = testing::shardmark(
      f,
      "run --trace --model gpt:layers=3,width=64,heads=2 --batch 1 --sequence 64 --bucket-mb 0.05 "
      "--steps 4 --strategy ddp,zero2,zero3 --ranks 2,3 --overlap off,on --link 4gbit --out out");
  ASSERT_EQ(ran.code, 0) << ran.err;
  double most = 0;
  for (const json& r : testing::lines_of(f / "out/records.jsonl")) {
    const auto folder =
        (f / ("out/" + r["traces"]["rank_files"][0].get<std::string>())).parent_path();
    const std::string command =
        fmt::format("{} '{}/hta_overlap.py' '{}' >'{}' 2>'{}'", python(), SHARDMARK_TESTDATA,
                    folder.string(), (f / "said").string(), (f / "errors").string());
    ASSERT_EQ(std::system(command.c_str()), 0) << testing::read(f / "errors");
    const json theirs = json::parse(testing::read(f / "said"));
    ASSERT_EQ(theirs.size(), r["cell"]["ranks"]);
    for (std::size_t rank = 0; rank < theirs.size(); ++rank) {
      const double ours = 100. * static_cast<double>(recorded(r, rank, "hidden_ns")) /
                          static_cast<double>(recorded(r, rank, "communication_ns"));
      EXPECT_NEAR(theirs[rank].get<double>(), ours, 0.0051) << r["cell"]["id"];  // of 2 decimals
      fmt::print("{} rank {}: {:.2f} and {:.2f} %\n", r["cell"]["id"].get<std::string>(), rank,
                 theirs[rank].get<double>(), ours);
      most = std::max(most, ours);
    }
  }
  EXPECT_GT(most, 2) << "nothing was hidden, so nothing was compared";
}

}  // namespace
}  // namespace shardmark
