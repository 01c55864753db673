// Does the list show everything that this build knows, and why the rest is absent?
#include "bench/list.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "bench/registry.hpp"
#include "bench/units.hpp"
#include "impl/comm/mpi.hpp"
#include "impl/models/registry.hpp"
#include "impl/strategies/strategy.hpp"
#include "profilers/cupti.hpp"
#include "profilers/nvml.hpp"
#include "profilers/nvtx.hpp"

namespace shardmark {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(List, names_every_strategy_and_model) {
  const std::string text = list_text();
  ASSERT_FALSE(strategies().empty());
  for (const auto& [name, entry] : strategies()) {
    EXPECT_TRUE(has(text, "  " + name + " ")) << name;
    EXPECT_TRUE(has(text, entry.summary)) << name;
  }
  ASSERT_FALSE(presets().empty());
  for (const Preset& p : presets()) EXPECT_TRUE(has(text, "  " + p.name + " ")) << p.name;
  for (const FreeForm& f : free_forms()) EXPECT_TRUE(has(text, f.pattern)) << f.pattern;
}

TEST(List, strategies_that_share_a_place_are_all_there) {
  // As where somebody copies a strategy's file and leaves the place in it as it was.
  strategies().emplace("zero1_copy", StrategyEntry{"a copy of zero1", strategies().at("zero1").rank,
                                                   false, nullptr, nullptr});
  const std::vector<std::string> names = strategy_names();
  const std::string text = list_text();
  strategies().erase("zero1_copy");
  EXPECT_EQ(names, (std::vector<std::string>{"ddp", "zero1", "zero1_copy", "zero2", "zero3",
                                             "zero1_naive", "zero2_naive"}));
  EXPECT_LT(text.find("  zero1 "), text.find("  zero1_copy "));
  EXPECT_LT(text.find("  zero1_copy "), text.find("  zero2 "));
}

TEST(List, says_why_something_is_absent) {
  std::istringstream in(list_text());
  int absent = 0;
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.find(" absent ");
    if (at == std::string::npos) continue;
    ++absent;
    EXPECT_GT(line.size(), at + 12) << line;
  }
  // cuda, nccl, and those of the others that were not built.
  EXPECT_EQ(absent,
            2 + !mpi::built() + !nvtx::built() + !cupti::built() + !Nvml().why_not().empty());
  EXPECT_TRUE(has(list_text(), mpi::library()));
}

TEST(List, fits_into_100_columns) {
  std::istringstream in(list_text());
  for (std::string line; std::getline(in, line);) EXPECT_LE(display_width(line), 100u) << line;
}

}  // namespace
}  // namespace shardmark
