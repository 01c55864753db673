// Does this build still do exactly what the committed baseline says? Runs the exact cells of the
// gate and compares them with the latest run of a machine of the same class; on any other machine,
// with what formulas give.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bench/baseline.hpp"
#include "bench/compare.hpp"
#include "bench/compare_text.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using testing::Folder;
using testing::Ran;
namespace fs = std::filesystem;

constexpr const char* suite = "gate-exact";

fs::path committed(const std::string& machine_class) {
  return fs::path(SHARDMARK_BASELINES) / machine_class / (std::string(suite) + ".jsonl");
}

// Of this class, or of any.
fs::path nearest(const std::string& machine_class) {
  if (fs::exists(committed(machine_class))) return committed(machine_class);
  std::vector<fs::path> all;
  if (fs::is_directory(SHARDMARK_BASELINES))
    for (const auto& folder : fs::directory_iterator(SHARDMARK_BASELINES))
      if (const fs::path file = committed(folder.path().filename()); fs::exists(file))
        all.push_back(file);
  return all.empty() ? fs::path() : *std::min_element(all.begin(), all.end());
}

TEST(this_build, does_exactly_what_the_baseline_says) {
  const Folder f;
  const Ran ran = testing::shardmark(
      f, fmt::format("run --suite {} --rounds 1 --out out --timeout 120", suite));
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  const auto records = testing::lines_of(f / "out/records.jsonl");
  ASSERT_FALSE(records.empty());
  const std::string here = machine_class(records.front().at("machine"));
  const fs::path baseline = nearest(here);
  ASSERT_FALSE(baseline.empty()) << "no baseline of " << suite << " is committed";
  const bool same_class = baseline == committed(here);
  const Comparison c = compare(read_side("BASE", baseline), read_side("HEAD", f / "out"),
                               {.across_machines = !same_class, .exact_only = same_class});
  EXPECT_FALSE(c.red()) << compare_text(c);
  EXPECT_GE(c.compared(), 30u);
}

}  // namespace
}  // namespace shardmark
