// Does the README show what the program prints, and explain every column of it?
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "bench/example_records.hpp"
#include "bench/table.hpp"

namespace shardmark {
namespace {

constexpr const char* blocks[] = {"TIME, ms", "COMMUNICATION, ms", "OVERLAP, ms",
                                  "RATES",    "BYTES, MB",         "TRAFFIC, MB"};

std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from), end = text.find(to, begin);
  if (begin == std::string::npos || end == std::string::npos) return "";
  return text.substr(begin + from.size(), end - begin - from.size());
}

std::string first_line(const std::string& text, const std::string& start) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.rfind(start, 0) == 0) return line;
  return "";
}

std::vector<std::string> columns(const std::string& line) {
  std::vector<std::string> names;
  std::size_t at = 0;
  // Two blanks or more stand between columns, one within a name.
  while ((at = line.find_first_not_of(' ', at)) != std::string::npos) {
    const std::size_t end = std::min(line.find("  ", at), line.size());
    names.push_back(line.substr(at, end - at));
    at = end;
  }
  return names;
}

TEST(Readme, shows_the_table_as_it_is_printed) {
  const std::string shown =
      between(example::read("../../README.md"), "<!-- quickstart -->", "<!-- /quickstart -->");
  ASSERT_FALSE(shown.empty()) << "the marks around the table are missing";
  const std::string printed = table(example::ladder());
  for (const char* block : blocks) {
    const auto names = columns(first_line(printed, block));
    ASSERT_GT(names.size(), 3u) << block;
    EXPECT_EQ(columns(first_line(shown, block)), names);
  }
  for (const char* strategy :
       {"ddp ", "zero1 ", "zero2 ", "zero3 ", "zero1_naive ", "zero2_naive "})
    EXPECT_NE(first_line(shown, strategy), "") << strategy;
  // What the letters mean does not depend on the run.
  const auto legend = [](const std::string& text) {
    const std::size_t at = text.find("RATES    matrix");
    return at == std::string::npos ? "" : text.substr(at, text.find("bytes.\n", at) - at);
  };
  EXPECT_EQ(legend(shown), legend(printed));
}

TEST(Readme, the_table_is_of_the_default_suite) {
  const std::string readme = example::read("../../README.md");
  const std::string shown = between(readme, "<!-- quickstart -->", "<!-- /quickstart -->");
  const std::string suite = example::read("../suites/default.suite");
  const std::string rounds = between(suite, "--rounds ", "\n");
  const std::string heading = first_line(shown, "shardmark ");
  EXPECT_NE(heading.find("suite default"), std::string::npos) << heading;
  EXPECT_NE(heading.find("  " + rounds + " rounds"), std::string::npos) << heading;
}

TEST(Readme, zero3s_textbook_counts_every_parameter_twice) {
  const std::string shown =
      between(example::read("../../README.md"), "<!-- quickstart -->", "<!-- /quickstart -->");
  const std::string title = first_line(shown, "gpt-nano ");
  std::string ranks, parameters;
  for (const std::string& part : columns(title)) {
    if (part.ends_with(" ranks")) ranks = part;
    if (part.ends_with(" parameters")) parameters = part;
  }
  std::erase(parameters, ',');
  ASSERT_FALSE(ranks.empty() || parameters.empty()) << title;
  const double p = std::stod(parameters), n = std::stod(ranks);
  const std::string traffic = shown.substr(std::min(shown.find("TRAFFIC, MB"), shown.size()));
  const auto names = columns(first_line(traffic, "TRAFFIC, MB"));
  const auto values = columns(first_line(traffic, "zero3 "));
  const auto at = std::find(names.begin(), names.end(), "textbook") - names.begin();
  ASSERT_LT(static_cast<std::size_t>(at), values.size());
  // One reduce-scatter of gradients, two all-gathers of weights; the last digit shown is 1 kB.
  EXPECT_NEAR(std::stod(values[static_cast<std::size_t>(at)]), 4 * 3 * p * (n - 1) / n * 1e-6,
              0.0006);
}

TEST(Readme, explains_every_column) {
  const std::string readme = example::read("../../README.md");
  const std::string explained = between(readme, "## What each column means", "\n## ");
  const std::string printed = table(example::ladder());
  std::set<std::string> names;
  for (const char* block : blocks) {
    const auto all = columns(first_line(printed, block));
    names.insert(all.begin() + 1, all.end());
  }
  names.erase("overlap");  // off or on, as the flag
  for (const std::string& name : names) EXPECT_NE(explained.find(name), std::string::npos) << name;
}

}  // namespace
}  // namespace shardmark
