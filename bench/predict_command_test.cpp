// Does `shardmark predict`, run for real, say what fits into a memory and by how much the others do
// not, print no exponents, and refuse what is no file of a model?
#include <gtest/gtest.h>

#include <sys/stat.h>

#include "bench/memory_fit.hpp"
#include "bench/suite.hpp"
#include "bench/test_support.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {
namespace {

using nlohmann::json;
using testing::Folder;
using testing::Ran;

Prediction holding(double peak, bool exact = true) {
  Prediction p;
  p.cell.strategy = "zero3", p.cell.ranks = 64;
  p.peak_bytes = peak, p.peak_exact = exact;
  p.claims.exact[{Tag::parameter, DType::f32}] = 70e9;
  return p;
}

TEST(MemoryFit, TheEdgeFits) {
  EXPECT_EQ(over_bytes(holding(80e9), 80e9), 0);
  EXPECT_EQ(over_bytes(holding(81e9), 80e9), 1e9);
  EXPECT_EQ(memory_json(holding(80e9), 80e9)["fits"], true);
  EXPECT_EQ(memory_json(holding(81e9), 80e9)["fits"], false);
  // Only a bound: 81 GB may be more than there is to hold, but 70 GB of states are there at once.
  EXPECT_TRUE(memory_json(holding(81e9, false), 80e9)["fits"].is_null());
  EXPECT_EQ(memory_json(holding(81e9, false), 69e9)["fits"], false);
  EXPECT_EQ(memory_json(holding(79e9, false), 80e9)["fits"], true);
}

TEST(MemoryFit, SaysHowManyDoOrWhatTheNearestLacks) {
  EXPECT_EQ(memory_text({holding(80e9), holding(81e9)}, 80e9),
            "1 of 2 rows fit into 80.0 GB a rank.");
  EXPECT_EQ(memory_text({holding(92e9), holding(81.5e9)}, 80e9),
            "Nothing fits into 80.0 GB a rank: zero3 on 64 ranks is nearest, and needs 1.50 GB "
            "more.");
  EXPECT_EQ(
      memory_text({holding(81.5e9, false)}, 80e9),
      "Nothing is sure to fit into 80.0 GB a rank: zero3 on 64 ranks is nearest, and needs at "
      "most 1.50 GB more.");
}

// gpt2 in bf16: 16 bytes for each of 124,439,808 parameters, 1.99 GB with ddp.
TEST(PredictCommand, MarksWhatFits) {
  const Folder f;
  const std::string line =
      "predict --model gpt2 --precision bf16 --batch 1 --strategy ddp,zero3 --ranks 64 --memory ";
  const Ran text = testing::shardmark(f, line + "1.5GB");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("  fits\n"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("1 of 2 rows fit into 1.50 GB a rank."), std::string::npos) << text.out;
  for (const std::string& row : split(text.out, '\n')) EXPECT_LE(display_width(row), 100u) << row;
  const json both = json::parse(testing::shardmark(f, line + "1.5GiB --format json").out);
  EXPECT_EQ(both[0]["memory"]["memory_bytes"], 1.5 * 1073741824);
  EXPECT_EQ(both[0]["memory"]["fits"], false);
  EXPECT_EQ(both[0]["memory"]["over_bytes"],
            both[0]["peak_bytes"].get<double>() - 1.5 * 1073741824);
  EXPECT_EQ(both[1]["memory"]["fits"], true);
  EXPECT_NE(testing::shardmark(f, line + "1MB").out.find("Nothing fits into 1.00 MB a rank: zero3"),
            std::string::npos);
}

// ZeRO paper, section 7: 2P elements to reduce and gather with ddp and zero1, 3P with zero3, times
// (N-1)/N; here in 4 bytes.
TEST(PredictCommand, JsonHasTheTextbooksVolume) {
  const Folder f;
  const Ran ran = testing::shardmark(
      f, "predict --model gpt-nano --strategy ddp,zero1,zero3 --ranks 8 --format json --clip 0");
  const json all = json::parse(ran.out);
  const double parameters = all[0]["model"]["parameters"];
  EXPECT_EQ(all[0]["textbook_volume_bytes"], 4 * 2 * parameters * 7 / 8);
  EXPECT_EQ(all[1]["textbook_volume_bytes"], 4 * 2 * parameters * 7 / 8);
  EXPECT_EQ(all[2]["textbook_volume_bytes"], 4 * 3 * parameters * 7 / 8);
  EXPECT_EQ(all[0]["called"][0]["verb"], "all_reduce");
  EXPECT_EQ(all[0]["called"][0]["textbook_payload_bytes"], 4 * parameters);
}

TEST(PredictCommand, NoNumberHasAnExponent) {
  const Folder f;
  testing::write(f / "big.json",
                 R"({"model_type": "llama", "hidden_size": 16384, "intermediate_size": 53248,
                     "num_hidden_layers": 126, "num_attention_heads": 128, "vocab_size": 128256,
                     "num_key_value_heads": 8, "max_position_embeddings": 131072})");
  for (const char* more : {"--batch 1", "--batch 64 --sequence 8192"}) {
    const Ran ran = testing::shardmark(
        f, std::string("predict --model big.json --precision bf16 --ranks 1,64,100000 ") + more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out.find("e+"), std::string::npos) << ran.out;
  }
}

TEST(PredictCommand, HelpSaysHowManyRanksItTakes) {
  const Folder f;
  const std::string help = testing::shardmark(f, "predict --help").out;
  EXPECT_NE(help.find("ranks, 1 to 100000"), std::string::npos) << help;
  EXPECT_EQ(help.find("1 to 256"), std::string::npos) << help;
}

struct Wrong {
  const char *arguments, *sentence;
};

TEST(PredictCommand, WrongInputIsASentenceAndExit2) {
  const Folder f;
  ASSERT_EQ(mkfifo((f / "pipe.json").c_str(), 0600), 0);
  testing::write(f / "large.json", std::string(17'000'000, ' '));
  for (const Wrong& w :
       {Wrong{"--memory 0GB", "--memory is \"0GB\", but must be a number above 0 with a unit"},
        Wrong{"--memory -8GB", "--memory is \"-8GB\", but must be a number above 0 with a unit"},
        Wrong{"--memory 80", "--memory is \"80\", whose unit \"\" is none of"},
        Wrong{"--memory 8GB --memory 9GB", "--memory is given twice"},
        Wrong{"--estimator deepspeeed",
              "--estimator \"deepspeeed\" is unknown; it may be deepspeed, "
              "textbook, exact; did you mean deepspeed?"},
        Wrong{"--estimator ''", "--estimator is \"\", but must be"},
        Wrong{"--model pipe.json",
              "--model: pipe.json is a pipe or a device, but must be a regular "
              "file."},
        Wrong{"--model large.json", "--model: large.json has more than 16 MB"},
        Wrong{"--strategy-config pipe.json", "pipe.json is a pipe or a device"},
        Wrong{"--strategy-config large.json", "large.json has more than 16 MB"}}) {
    const Ran ran = testing::shardmark(f, std::string("predict ") + w.arguments, "timeout 10");
    EXPECT_EQ(ran.code, 2) << w.arguments;
    EXPECT_EQ(ran.out, "") << w.arguments;
    EXPECT_NE(ran.err.find(w.sentence), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace shardmark
