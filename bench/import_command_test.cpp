// Does `shardmark import`, run for real, print every list, a command that can be typed, and the
// right code?
#include "bench/import_command.hpp"

#include "bench/import_test_support.hpp"
#include "bench/test_support.hpp"
#include "bench/units.hpp"

namespace shardmark {
namespace {

using nlohmann::json;
using testing::Folder;
using testing::Ran;

class ImportCommand : public ::testing::Test {
 protected:
  ImportCommand() {
    testing::write(f / "ds.json", R"({"train_micro_batch_size_per_gpu": 2,
      "bf16": {"enabled": "auto"}, "gradient_clipping": "auto", "steps_per_print": 10,
      "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": "auto",
        "offload_optimizer": {"device": "cpu"}, "reduce_bucket_size": "auto"}})");
    testing::write(f / "c.yaml",
                   "distributed_type: DEEPSPEED\nnum_processes: 2\n"
                   "deepspeed_config: {deepspeed_config_file: ds.json}\n");
  }
  Ran ran(const std::string& arguments) const { return testing::shardmark(f, arguments); }
  Folder f;
};

TEST_F(ImportCommand, PrintsEveryListAndTheCommand) {
  const Ran out = ran("import ds.json --model gpt-nano --ranks 4 --precision bf16");
  EXPECT_EQ(out.code, 0) << out.err;
  for (const char* part :
       {"ds.json  ·  DeepSpeed\n", "\nMAPPED\n", "\nLEFT OPEN\n", "\nUNSUPPORTED\n", "\nIGNORED\n",
        "\nNOTES\n", "  gradient_clipping  auto  ",
        "  changes no byte on the device and no call: steps_per_print\n",
        // 10 h of 128, "at most" there and "fewer than" here.
        "\nshardmark run --model gpt-nano --strategy zero3 --ranks 4 --batch 2 --accumulate 1 "
        "--overlap on --precision bf16 --reduce-dtype bf16 --prefetch 3 --persist-below 1281\n"})
    EXPECT_NE(out.out.find(part), std::string::npos) << part << "\n" << out.out;
  std::istringstream lines(out.out);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("shardmark run")) {
      EXPECT_LE(display_width(line), 100u) << line;
    }
}

TEST_F(ImportCommand, TheCommandRuns) {
  const Ran out = ran("import ds.json --model mlp:layers=2,width=16 --ranks 2 --precision fp32");
  ASSERT_EQ(out.code, 0) << out.err;
  std::string line = out.out.substr(out.out.rfind("shardmark run") + 10);
  line.pop_back();
  const Ran run = ran(line + " --sequence 16 --steps 1 --rounds 1 --out run");
  EXPECT_EQ(run.code, 0) << line << run.err;
  EXPECT_EQ(testing::lines_of(f / "run/records.jsonl").at(0)["cell"]["strategy"], "zero3");
}

TEST_F(ImportCommand, JsonIsForPrograms) {
  const json j = json::parse(ran("import c.yaml --format json").out);
  EXPECT_EQ(j["kind"], "Accelerate with DeepSpeed");
  EXPECT_EQ(j["flags"]["--ranks"], "2");
  EXPECT_EQ(j["flags"]["--strategy"], "zero3");
  EXPECT_EQ(j["left_open"][0]["key"], "bf16.enabled");
  EXPECT_FALSE(j["notes"].empty());
  for (const char* list : {"mapped", "unsupported", "ignored"})
    EXPECT_FALSE(j[list].empty()) << list;
}

TEST_F(ImportCommand, WrongInputIsASentenceAndExit2) {
  testing::write(f / "both.json", R"({"fp16": {"enabled": true}, "bf16": {"enabled": true}})");
  testing::write(f / "far.yaml",
                 "distributed_type: DEEPSPEED\nnum_processes: 2\n"
                 "deepspeed_config: {deepspeed_config_file: none.json}\n");
  for (const auto& [arguments, sentence] :
       {std::pair("import", "FILE is required; see shardmark import --help."),
        std::pair("import none.json", "FILE: there is no file none.json."),
        std::pair("import far.yaml", "deepspeed_config_file: there is no file none.json."),
        std::pair("import both.json",
                  "both.json: \"bf16.enabled\" is true, but fp16 is on as well"),
        std::pair("import ds.json --ranks 0", "--ranks is \"0\", but must be"),
        std::pair("import ds.json --ranks 1 --ranks 2", "--ranks is given twice"),
        std::pair("import ds.json --precision bf61",
                  "but must be fp32, bf16, fp16; did you mean bf16?"),
        std::pair("import ds.json --format xml", "--format is \"xml\", but must be text, json"),
        std::pair("import ds.json --model gtp-nano", "did you mean gpt-nano?"),
        std::pair("import ds.json --rank 2", "did you mean --ranks?"),
        std::pair("import ds.json more", "\"more\" stands behind no flag.")}) {
    const Ran wrong = ran(arguments);
    EXPECT_EQ(wrong.code, 2) << arguments;
    EXPECT_EQ(wrong.out, "") << arguments;
    EXPECT_NE(wrong.err.find(sentence), std::string::npos) << arguments << ": " << wrong.err;
  }
}

}  // namespace
}  // namespace shardmark
