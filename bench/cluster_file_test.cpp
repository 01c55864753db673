// Is a cluster file read as it was written, and is what is wrong in one said in a sentence?
#include "bench/cluster_file.hpp"

#include <gtest/gtest.h>

namespace shardmark {
namespace {

using nlohmann::json;

json small() {
  return json::parse(R"({"name": "two boxes", "gpus_per_node": 4, "memory_bytes": 24e9,
    "matrix_tflops": {"bf16": {"peak": 100, "achieved": 80}},
    "memory_gb_per_s": {"peak": 900},
    "inside_node": {"gb_per_s": 25, "latency_us": 5}})");
}

std::string refused(const json& file) {
  try {
    read_cluster(file.dump(), "c.json");
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

json with(const char* pointer, const json& value) {
  json file = small();
  file[json::json_pointer(pointer)] = value;
  return file;
}

TEST(ClusterFile, units_are_those_of_the_keys) {
  const Cluster c = read_cluster(small().dump(), "c.json");
  EXPECT_EQ(c.gpus_per_node, 4);
  EXPECT_EQ(c.memory_bytes, 24e9);
  EXPECT_EQ(c.peak_flops_per_ns.at(DType::bf16), 100e3);  // 1e14 a second
  EXPECT_EQ(c.achieved_flops_per_ns.at(DType::bf16), 80e3);
  EXPECT_EQ(c.memory_bytes_per_ns, 900);  // 9e11 a second; as the peak
  EXPECT_EQ(c.inside.latency_ns, 5000);
  EXPECT_EQ(c.between.bytes_per_ns, 25);  // as inside
  EXPECT_EQ(c.launch_ns, 0);
  EXPECT_EQ(c.contention, 1);
  EXPECT_FALSE(c.eager);
  EXPECT_TRUE(c.attention_flops_per_ns.empty());  // as any other product
}

TEST(ClusterFile, what_is_written_is_read_again) {
  Cluster c = read_cluster(small().dump(), "c.json");
  c.ops["adamw/f32"] = {500, 0, 0.0125};
  c.ops["matmul_nn/f32"] = {0, 0.004, 0};
  c.verbs[Verb::reduce_scatter] = {2000, 0, 0.0625, 0.125};
  c.cache_bytes = 32e6;
  c.cpu = "some processor";
  c.eager = true, c.attention_flops_per_ns[DType::bf16] = 30e3;
  const Cluster again = read_cluster(to_json(c).dump(), "again");
  EXPECT_EQ(to_json(again).dump(), to_json(c).dump());
  EXPECT_DOUBLE_EQ(again.ops.at("adamw/f32").ns_per_byte, 0.0125);
  EXPECT_DOUBLE_EQ(again.ops.at("matmul_nn/f32").ns_per_flop, 0.004);
  EXPECT_DOUBLE_EQ(again.verbs.at(Verb::reduce_scatter).launch_ns, 2000);
  EXPECT_DOUBLE_EQ(again.verbs.at(Verb::reduce_scatter).ns_per_cold_byte, 0.125);
  EXPECT_EQ(again.cache_bytes, 32e6);
  EXPECT_EQ(again.cpu, "some processor");
  EXPECT_TRUE(again.eager);
  EXPECT_DOUBLE_EQ(again.attention_flops_per_ns.at(DType::bf16), 30e3);
}

TEST(ClusterFile, presets_have_a_source_for_every_figure) {
  ASSERT_EQ(cluster_presets(), (std::vector<std::string>{"a100-40gb", "a100", "h100"}));
  for (const std::string& preset : cluster_presets()) {
    const Cluster c = cluster_of("--cluster", preset);
    EXPECT_EQ(c.name, preset);
    for (const char* figure :
         {"gpus_per_node", "memory_bytes", "matrix_tflops", "memory_gb_per_s", "launch_us",
          "kernels", "inside_node", "between_nodes", "contention"})
      EXPECT_FALSE(c.sources.at(figure).empty()) << preset << " " << figure;
    // Data sheets: what is achieved is less than the peak.
    EXPECT_LT(c.achieved_flops_per_ns.at(DType::bf16), c.peak_flops_per_ns.at(DType::bf16));
    EXPECT_LT(c.memory_bytes_per_ns, c.peak_memory_bytes_per_ns);
  }
}

TEST(ClusterFile, says_what_is_wrong) {
  EXPECT_EQ(refused(with("/inside_node/gb_per_s", 0)),
            "c.json: inside_node.gb_per_s is 0, but must be a number from 1e-06 to 1e+09.");
  EXPECT_EQ(refused(with("/inside_node/gb_per_s", -3)),
            "c.json: inside_node.gb_per_s is -3, but must be a number from 1e-06 to 1e+09.");
  EXPECT_EQ(refused(with("/gpus_per_node", 2.5)),
            "c.json: gpus_per_node is 2.5, but must be a whole number.");
  EXPECT_EQ(refused(with("/contention", 0.5)),
            "c.json: contention is 0.5, but must be a number from 1 to 100.");
  EXPECT_EQ(refused(with("/memory_byte", 3)).substr(0, 31), "c.json: memory_byte is unknown;");
  EXPECT_NE(refused(with("/memory_byte", 3)).find("did you mean memory_bytes?"), std::string::npos);
  EXPECT_EQ(refused(with("/matrix_tflops", json::object())),
            "c.json: matrix_tflops is empty, but must hold one type.");
  EXPECT_EQ(refused(with("/matrix_tflops/fp8", json{{"peak", 1}})),
            "c.json: matrix_tflops.fp8 is no type of products; known are f32, bf16, f16.");
  EXPECT_EQ(refused(with("/kernels", "lazy")),
            "c.json: kernels is \"lazy\", but must be eager or fused.");
  EXPECT_EQ(refused(with("/matrix_tflops/bf16/attention", 0)),
            "c.json: matrix_tflops.bf16.attention is 0, but must be a number from 1e-06 to 1e+09.");
  EXPECT_EQ(refused(with("/verbs/gossip", json{{"launch_us", 1}})),
            "c.json: verbs.gossip is no verb; known are all_reduce, reduce_scatter, all_gather.");
  EXPECT_EQ(refused(with("/memory_gb_per_s/peak", 1e-300)),
            "c.json: memory_gb_per_s.peak is 1e-300, but must be a number from 1e-06 to 1e+09.");
  EXPECT_EQ(refused(with("/name", "two\nlines")),
            "c.json: name must be a text of 1 to 80 bytes in one line.");
  json without = small();
  without.erase("inside_node");
  EXPECT_EQ(refused(without), "c.json: inside_node is missing; it is an object.");
}

TEST(ClusterFile, a_name_that_is_neither_preset_nor_file) {
  try {
    cluster_of("--cluster", "h10");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_EQ(std::string(e.what()),
              "--cluster \"h10\" is no preset and no file: presets are a100-40gb, a100, h100; a "
              "file's name has a dot or a /; did you mean h100?");
  }
}

}  // namespace
}  // namespace shardmark
