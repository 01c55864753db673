// Does --strategy-config set what the file says, let flags say what it leaves out, and refuse those
// that contradict it?
#include "bench/strategy_config.hpp"

#include <gtest/gtest.h>

#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using testing::Folder;
using testing::Ran;
using testing::refused;

class StrategyConfig : public ::testing::Test {
 protected:
  // The flags of the one line that comes of it.
  Given line(const std::string& text, const Given& typed, const std::string& name = "ds.json") {
    const std::vector<Given> all = lines(text, typed, name);
    EXPECT_EQ(all.size(), 1u);
    return all.at(0);
  }
  std::vector<Given> lines(const std::string& text, const Given& typed,
                           const std::string& name = "ds.json") {
    testing::write(f / name, text);
    notes.clear();
    return with_strategy_config((f / name).string(), typed, {}, &notes);
  }
  // The sentence, with the file's name alone.
  std::string why(const std::string& text, const Given& typed,
                  const std::string& name = "ds.json") {
    std::string sentence = refused([&] { lines(text, typed, name); });
    const std::string path = (f / name).string();
    for (std::size_t at; (at = sentence.find(path)) != std::string::npos;)
      sentence.replace(at, path.size(), name);
    return sentence;
  }
  std::string value(const Given& given, const std::string& flag) {
    return given.contains(flag) ? given.at(flag).front() : "";
  }
  bool noted(const std::string& part) {
    for (const std::string& note : notes)
      if (note.find(part) != std::string::npos) return true;
    return false;
  }

  Folder f;
  std::vector<std::string> notes;
};

constexpr const char* two = R"({"zero_optimization": {"stage": 2, "overlap_comm": true},
  "bf16": {"enabled": true}, "train_batch_size": 64, "gradient_clipping": 0.5,
  "steps_per_print": 10, "zero_force_ds_cpu_optimizer": false,
  "curriculum_learning": {"enabled": false}})";

TEST_F(StrategyConfig, SetsWhatTheFileSays) {
  const Given g = line(two, {{"--ranks", {"8"}}});
  EXPECT_EQ(value(g, "--strategy"), "zero2");
  EXPECT_EQ(value(g, "--precision"), "bf16");
  EXPECT_EQ(value(g, "--batch"), "8");  // 64 / 8
  EXPECT_EQ(value(g, "--overlap"), "on");
  EXPECT_EQ(value(g, "--clip"), "0.5");
  EXPECT_TRUE(noted("(DeepSpeed) sets --strategy zero2 --batch 8 --accumulate 1 "));
  EXPECT_TRUE(noted("ignored: steps_per_print, zero_force_ds_cpu_optimizer"));
  EXPECT_TRUE(noted("unsupported: curriculum_learning (sequences have one length here)"));
}

TEST_F(StrategyConfig, EachNumberOfRanksHasItsBatch) {
  const std::vector<Given> all = lines(two, {{"--ranks", {"2,16"}}});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(value(all[0], "--batch"), "32");
  EXPECT_EQ(value(all[1], "--batch"), "4");
}

TEST_F(StrategyConfig, FlagsSayWhatTheFileLeavesOut) {
  const Given g = line(R"({"zero_optimization": {"stage": 1, "reduce_bucket_size": "auto"},
      "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",
      "train_batch_size": 64, "bf16": {"enabled": "auto"}})",
                       {{"--ranks", {"4"}},
                        {"--accumulate", {"2"}},
                        {"--precision", {"bf16"}},
                        {"--bucket-mb", {"25"}},
                        {"--clip", {"1"}},
                        {"--sequence", {"32"}}});
  EXPECT_EQ(value(g, "--strategy"), "zero1");
  EXPECT_EQ(value(g, "--batch"), "8");  // 64 / (4 x 2)
  EXPECT_EQ(value(g, "--precision"), "bf16");
  EXPECT_EQ(value(g, "--bucket-mb"), "25");
  EXPECT_EQ(value(g, "--clip"), "1");
  EXPECT_EQ(value(g, "--sequence"), "32");
}

TEST_F(StrategyConfig, WhatNobodySaysIsWhatIsUsual) {
  const Given g = line(R"({"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"},
      "train_batch_size": 64, "gradient_accumulation_steps": "auto"})",
                       {});
  EXPECT_EQ(value(g, "--ranks"), "2");
  EXPECT_EQ(value(g, "--precision"), "fp32");
  EXPECT_EQ(value(g, "--batch"), "32");  // 64 / (2 x 1)
  EXPECT_TRUE(noted("nothing says --ranks 2, --accumulate 1, --precision fp32"));
}

TEST_F(StrategyConfig, RefusesFlagsThatContradictIt) {
  EXPECT_EQ(why(two, {{"--strategy", {"zero1,zero2"}}}),
            "--strategy is \"zero1,zero2\", but ds.json says zero2 (\"zero_optimization.stage\"); "
            "leave --strategy away, or change the file.");
  EXPECT_EQ(why(two, {{"--clip", {"1"}}}),
            "--clip is \"1\", but ds.json says 0.5 (\"gradient_clipping\"); leave --clip away, or "
            "change the file.");
  EXPECT_EQ(why(two, {{"--clip", {"0.50"}}}), "");
  EXPECT_EQ(why(R"({"train_batch_size": 8})", {{"--strategy", {"zero3"}}}),
            "--strategy is \"zero3\", but ds.json says ddp; leave --strategy away, or change the "
            "file.");
  EXPECT_EQ(why(two, {{"--precision", {"fp32"}}}),
            "--precision is \"fp32\", but ds.json says bf16 (\"bf16.enabled\"); leave --precision "
            "away, or change the file.");
}

TEST_F(StrategyConfig, RefusesRanksAndBatchesThatContradictIt) {
  constexpr const char* sizes = R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,
      "gradient_accumulation_steps": 2})";
  EXPECT_EQ(why(sizes, {{"--ranks", {"8"}}}), "");
  EXPECT_EQ(why(sizes, {}), "");  // 64 / (4 x 2) = 8 ranks
  EXPECT_EQ(why(sizes, {{"--ranks", {"4"}}}),
            "ds.json: \"train_batch_size\" is 64, but a micro-batch of 4 x 2 micro-steps x 4 ranks "
            "is 32");
  EXPECT_EQ(why(sizes, {{"--batch", {"8"}}}),
            "--batch is \"8\", but ds.json says 4 (\"train_micro_batch_size_per_gpu\"); leave "
            "--batch away, or change the file.");
  EXPECT_EQ(why(sizes, {{"--ranks", {"8"}}, {"--global-batch", {"64"}}}), "");
  EXPECT_EQ(
      why(sizes, {{"--ranks", {"8"}}, {"--global-batch", {"32"}}}),
      "--global-batch is \"32\", but ds.json says 64, a batch of 4 x 2 micro-steps x 8 ranks; "
      "leave --global-batch away, or change the file.");
  EXPECT_EQ(why(two, {{"--ranks", {"3"}}}),
            "ds.json: \"train_batch_size\" is 64, but must be a multiple of 3, which is the ranks "
            "times the micro-steps");
  EXPECT_EQ(why("distributed_type: MULTI_GPU\nnum_processes: 8\n", {{"--ranks", {"4"}}}, "c.yaml"),
            "c.yaml: \"num_processes\" is 8, but --ranks says 4");
}

// What Accelerate fills in where its file is silent, no file has said.
TEST_F(StrategyConfig, SilenceOfAcceleratesFileCanBeFilled) {
  const std::string yaml =
      "distributed_type: DEEPSPEED\nnum_processes: 4\ndeepspeed_config:\n"
      "  zero_stage: 2\n";
  EXPECT_EQ(value(line(yaml, {{"--accumulate", {"4"}}}, "c.yaml"), "--accumulate"), "4");
  EXPECT_EQ(why(yaml + "  gradient_accumulation_steps: 2\n", {{"--accumulate", {"4"}}}, "c.yaml"),
            "--accumulate is \"4\", but c.yaml says 2 "
            "(\"deepspeed_config.gradient_accumulation_steps\"); leave --accumulate away, or "
            "change the file.");
}

TEST_F(StrategyConfig, PredictAndRunTakeIt) {
  testing::write(f / "ds.json", two);
  const Ran text = testing::shardmark(
      f, "predict --strategy-config ds.json --ranks 2,4 --format json --model gpt-nano");
  ASSERT_EQ(text.code, 0) << text.err;
  const nlohmann::json all = nlohmann::json::parse(text.out);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1]["cell"]["strategy"], "zero2");
  EXPECT_EQ(all[1]["cell"]["batch"], 16);
  EXPECT_NE(text.err.find("ds.json (DeepSpeed) sets"), std::string::npos) << text.err;
  testing::write(f / "small.json", R"({"zero_optimization": {"stage": 3},
      "train_micro_batch_size_per_gpu": 1})");
  const Ran run = testing::shardmark(f,
                                     "run --strategy-config small.json --model "
                                     "mlp:layers=2,width=64 --sequence 32 --steps 2 --rounds 1");
  EXPECT_EQ(run.code, 0) << run.err;
  const auto records = testing::lines_of(f / "results/latest/records.jsonl");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0]["cell"]["strategy"], "zero3");
  EXPECT_EQ(records[0]["cell"]["batch"], 1);
}

struct Wrong {
  const char *arguments, *sentence;
};

TEST_F(StrategyConfig, WrongFilesAreOneSentenceForEveryCommand) {
  testing::write(f / "both.json", R"({"fp16": {"enabled": true}, "bf16": {"enabled": true}})");
  testing::write(f / "half.json", R"({"zero_optimization": {"stage": 2.5}})");
  testing::write(f / "twice.json", "{\"train_batch_size\": 8,\n  \"train_batch_size\": 16}");
  testing::write(f / "twice.yaml", "num_processes: 2\nnum_processes: 4\n");
  testing::write(f / "torn.json", "{\"train_batch_size\": 8,\n \"bf16\":");
  testing::write(f / "place.json",
                 R"({"zero_optimization": {"stage": 2}, "offload_optimizer": {"device": "cpu"}})");
  testing::write(f / "empty.json", "");
  for (const Wrong& w :
       {Wrong{"both.json", "\"bf16.enabled\" is true, but fp16 is on as well"},
        Wrong{"half.json", "\"zero_optimization.stage\" is 2.5, but must be a whole number, which"},
        Wrong{"twice.json",
              "\"train_batch_size\" is there twice, but may stand once: again in "
              "line 2, column 3"},
        Wrong{"twice.yaml",
              "\"num_processes\" is there twice, but may stand once: again in line 2, "
              "column 1"},
        Wrong{"torn.json", "torn.json is no JSON: it cannot be read from line 2, column 9 on"},
        Wrong{"place.json", "\"offload_optimizer\" is an object, but belongs inside"},
        Wrong{"empty.json", "empty.json is empty (line 1, column 1)"},
        Wrong{"none.json", "there is no file none.json."},
        Wrong{"/dev/zero", "/dev/zero is a pipe or a device, but must be a regular file."}})
    for (const char* command :
         {"predict --strategy-config ", "run --strategy-config ", "import "}) {
      const Ran ran = testing::shardmark(f, std::string(command) + w.arguments);
      EXPECT_EQ(ran.code, 2) << command << w.arguments;
      EXPECT_EQ(ran.out, "") << command << w.arguments;
      EXPECT_NE(ran.err.find(w.sentence), std::string::npos) << command << ran.err;
    }
  for (const char* arguments :
       {"run --suite smoke --strategy-config both.json", "run --strategy-config ''",
        "run --resume a --strategy-config both.json"})
    EXPECT_EQ(testing::shardmark(f, arguments).code, 2) << arguments;
}

}  // namespace
}  // namespace shardmark
