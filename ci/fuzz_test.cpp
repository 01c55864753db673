// Does the driver of fuzz targets notice a target that ends, throws or does not come back, name the
// input and keep it, and pass one that does none of it?
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace fs = std::filesystem;

struct Ran {
  int code;
  std::string said;
};

class Fuzz : public ::testing::Test {
 protected:
  Fuzz() {
    std::string name = (fs::temp_directory_path() / "shardmark-fuzz-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    fs::create_directory(folder_ / "corpus");
  }
  ~Fuzz() override { fs::remove_all(folder_); }

  Ran on(const std::string& text, const std::string& seconds = "0.2") {
    std::ofstream(folder_ / "corpus" / "input.txt", std::ios::binary) << text;
    return ran("corpus " + seconds);
  }
  Ran ran(const std::string& arguments) {
    const std::string line =
        "cd " + folder_.string() + " && " + SHARDMARK_FUZZ_SAMPLE + " " + arguments + " 2>&1";
    Ran r{-1, ""};
    FILE* pipe = ::popen(line.c_str(), "r");
    char part[512];
    for (std::size_t n; (n = ::fread(part, 1, sizeof part, pipe)) > 0;) r.said.append(part, n);
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) r.code = WEXITSTATUS(status);
    return r;
  }
  std::string kept() {
    std::ifstream in(folder_ / "fuzz_sample.failed", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder_;
};

constexpr const char* beginning = "fuzz_sample: input 1, made from input.txt, ";

TEST_F(Fuzz, PassesWhatSurvives) {
  const Ran r = on("fine");
  EXPECT_EQ(r.code, 0) << r.said;
  EXPECT_NE(r.said.find(" inputs\n"), std::string::npos) << r.said;
  EXPECT_EQ(kept(), "");
}

TEST_F(Fuzz, NamesTheInputThatDoesNotComeBack) {
  const Ran r = on("loops for ever");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.said.find(std::string(beginning) + "took more than a second"), std::string::npos)
      << r.said;
  EXPECT_EQ(kept(), "loops for ever");
}

TEST_F(Fuzz, NamesTheInputThatWaitsForEver) {
  const Ran r = on("sleeps for ever", "0.2 0.5");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.said.find(std::string(beginning) + "did not come back"), std::string::npos) << r.said;
  EXPECT_EQ(kept(), "sleeps for ever");
}

TEST_F(Fuzz, NamesTheInputThatEndsIt) {
  const Ran ended = on("aborts");
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.said.find(std::string(beginning) + "ended it by "), std::string::npos)
      << ended.said;
  EXPECT_EQ(kept(), "aborts");
  const Ran threw = on("throws");
  EXPECT_EQ(threw.code, 1);
  EXPECT_NE(threw.said.find("it threw: vector"), std::string::npos) << threw.said;
  EXPECT_EQ(kept(), "throws");
}

TEST_F(Fuzz, NeedsACorpusAndATime) {
  EXPECT_EQ(ran("").code, 2);
  EXPECT_EQ(ran("nowhere 1").code, 2);
  EXPECT_EQ(ran("corpus 1").code, 2);  // nothing in it
}

}  // namespace
