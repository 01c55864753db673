// Does every command's help fit into a terminal of 100 columns?
#include <gtest/gtest.h>

#include <sstream>

#include "bench/test_support.hpp"

namespace shardmark {
namespace {

TEST(Help, help_fits_into_a_terminal) {
  const testing::Folder f;
  for (const char* command :
       {"", "run", "collectives", "compare", "export", "report", "gate", "baseline", "import",
        "exercise", "predict", "advise", "score", "list", "doctor", "cell"}) {
    std::istringstream help(testing::shardmark(f, std::string(command) + " --help").out);
    std::size_t lines = 0;
    for (std::string line; std::getline(help, line); ++lines)
      EXPECT_LE(line.size(), 100u) << command << ": " << line;
    EXPECT_GT(lines, 3u) << command;
  }
}

}  // namespace
}  // namespace shardmark
