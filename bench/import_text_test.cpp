// Is a text that is no JSON or YAML, or too much of it, refused in a sentence that says where?
#include "bench/import_text.hpp"

#include <fmt/format.h>

#include "bench/import_test_support.hpp"

namespace shardmark {
namespace {

using namespace importing;

TEST(ImportText, SaysWhereATextIsNoJson) {
  EXPECT_EQ(refusal(""),
            "ds.json is empty (line 1, column 1), but a strategy config has keys with "
            "values");
  EXPECT_EQ(refusal("{\n  \"train_batch_size\": 8,\n  \"fp16\": {\"enabled\": tru"),
            "ds.json is no JSON: it cannot be read from line 3, column 26 on");
  EXPECT_EQ(refusal("{\n \"train_batch_size\" 8}"),
            "ds.json is no JSON: it cannot be read from line 2, column 21 on");
  EXPECT_EQ(refusal("{\"a\": 1,\n # one\n \"a\": 2}"),
            "ds.json: \"a\" is there twice, but may stand once: again in line 3, column 2");
  EXPECT_EQ(refusal("{\n /* \"a\": 1}"),
            "ds.json: the comment that begins in line 2, column 2 does "
            "not end");
  EXPECT_EQ(refusal("{\"a\": 1,,}"),
            "ds.json is no JSON: it cannot be read from line 1, column 9 on");
  EXPECT_EQ(refusal("{,}"), "ds.json is no JSON: it cannot be read from line 1, column 2 on");
  EXPECT_EQ(refusal("[1]"), "ds.json holds no JSON object, but a strategy config is one");
  EXPECT_EQ(refusal("{\"learning\": 1}"),
            "ds.json is neither a DeepSpeed config, which has keys such as zero_optimization, "
            "train_batch_size, train_micro_batch_size_per_gpu, nor one of Accelerate, with "
            "distributed_type, fsdp_config, deepspeed_config");
  EXPECT_TRUE(refusal("{\"train_batch_size\": 1e999}").starts_with("ds.json cannot be read: "));
}

// Once it took time by the square of the objects, 20 s here.
TEST(ImportText, ManyObjectsAreRefusedInAMoment) {
  std::string many = "{\"train_batch_size\": 8";
  for (int i = 0; i < 17'000; ++i) many += fmt::format(",\"k{}\":{{}}", i);
  EXPECT_EQ(refusal(many + "}"),
            "ds.json has more than 10000 values, but a strategy config is short");
  EXPECT_EQ(refusal(std::string(300'000, ' ')),
            "ds.json has 300000 bytes, but a strategy config has at most 262144");
}

TEST(ImportText, SaysWhereATextIsNoYaml) {
  const auto yaml = [](const std::string& text) { return refusal(text, "c.yaml"); };
  EXPECT_EQ(yaml(" \n"),
            "c.yaml is empty (line 1, column 1), but a strategy config has keys with "
            "values");
  EXPECT_EQ(yaml("num_processes: 2\nfsdp_config:\n  a: 1\n  a: 2\n"),
            "c.yaml: \"a\" is there twice, but may stand once: again in line 4, column 3");
  EXPECT_TRUE(yaml("num_processes: 2\nfsdp_config: {a: 1\n").find("in line 3, column 1") !=
              std::string::npos)
      << yaml("num_processes: 2\nfsdp_config: {a: 1\n");
  EXPECT_TRUE(yaml("num_processes: [2\n").starts_with("c.yaml is no YAML: "));
  EXPECT_EQ(yaml("just words"),
            "c.yaml holds no keys with values, but a strategy config is such a "
            "list (line 1, column 1)");
  EXPECT_EQ(yaml("num_processes: 2\n---\nnum_processes: 3\n"),
            "c.yaml goes on behind its end, but a strategy config is one document: the next begins "
            "in line 2, column 1");
  EXPECT_EQ(yaml("{num_processes: 2\n}\n},\n"),
            "c.yaml is no YAML: illegal flow end in line 3, column 1");
  // Found by fuzzing: yaml-cpp's LoadAll() does not end here.
  EXPECT_TRUE(yaml("{\n  \"train_batch\": true\n  },\n  \"zero_optimization\": true\n}\n")
                  .starts_with("c.yaml "));
  // Ten tens of tens ... by names.
  std::string laughs = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    const std::string last = "*" + std::string(1, static_cast<char>(c - 1)) + ", ";
    laughs += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 9; ++i) laughs += last;
    laughs += last.substr(0, 2) + "]\n";
  }
  EXPECT_EQ(yaml(laughs), "c.yaml has more than 10000 values, but a strategy config is short");
  EXPECT_TRUE(yaml(std::string(5000, '[')).starts_with("c.yaml is no"));
  EXPECT_EQ(yaml(std::string("num_processes: 2\nx: \0", 21)),
            "c.yaml is no text: it has a zero byte in line 2, column 4");
}

}  // namespace
}  // namespace shardmark
