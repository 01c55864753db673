// Do costs come out as the formulas of latency and bandwidth say? Every figure worked out by hand.
#include "impl/cluster.hpp"

#include <gtest/gtest.h>

namespace shardmark {
namespace {

// Eight GPUs a node, 400 GB/s and 1 us inside, 50 GB/s and 10 us between.
Cluster two_levels() {
  Cluster c;
  c.name = "example";
  c.gpus_per_node = 8;
  c.peak_flops_per_ns = {{DType::bf16, 1000}};
  c.achieved_flops_per_ns = {{DType::bf16, 500}};
  c.peak_memory_bytes_per_ns = c.memory_bytes_per_ns = 2000;
  c.launch_ns = 1000;
  c.inside = {400, 1000};
  c.between = {50, 10'000};
  return c;
}

View on(DType t, std::size_t size) { return {1, size, t, Space::nowhere}; }

TEST(Cluster, a_ring_inside_a_node_takes_n_minus_1_rounds_of_an_nth) {
  // 7 us, and 7/8 of 1e9 bytes at 400 GB/s.
  const Cost cost = collective_cost(two_levels(), Verb::reduce_scatter, 1e9, {.ranks = 8});
  EXPECT_DOUBLE_EQ(cost.latency_ns, 7000);
  EXPECT_DOUBLE_EQ(cost.inside_ns, 2'187'500);
  EXPECT_DOUBLE_EQ(cost.between_ns, 0);
  EXPECT_DOUBLE_EQ(collective_cost(two_levels(), Verb::all_gather, 1e9, {.ranks = 8}).ns(),
                   cost.ns());
}

TEST(Cluster, an_all_reduce_is_a_ring_twice_or_a_tree) {
  // Large: the ring, 2 (7000 + 2187500), since a tree would send 2 * 1e9 / 400.
  EXPECT_DOUBLE_EQ(collective_cost(two_levels(), Verb::all_reduce, 1e9, {.ranks = 8}).ns(),
                   4'389'000);
  // A scalar: up and down a tree of three levels, against 14 rounds.
  EXPECT_NEAR(collective_cost(two_levels(), Verb::all_reduce, 8, {.ranks = 8}).ns(),
              6000 + 2 * 8 / 400.0, 1e-9);
}

TEST(Cluster, nodes_are_crossed_by_the_better_of_two_rings) {
  // 16 ranks. One ring through all, 15 rounds of 10 us, every lane of the node behind it:
  // 15/16 * 1e9 / 400. Ring of rings: 2187500 + 1/2 * 1e9/8 / 50 = 3437500 and 17 us.
  const Cost large = collective_cost(two_levels(), Verb::all_gather, 1e9, {.ranks = 16});
  EXPECT_DOUBLE_EQ(large.ns(), 150'000 + 2'343'750);
  // 8000 bytes: 7 us + 17.5 ns inside, then 10 us and 8000/8/2/50 = 10 ns between.
  const Cost small = collective_cost(two_levels(), Verb::all_gather, 8000, {.ranks = 16});
  EXPECT_DOUBLE_EQ(small.latency_ns, 17'000);
  EXPECT_DOUBLE_EQ(small.inside_ns, 17.5);
  EXPECT_DOUBLE_EQ(small.between_ns, 10);
}

TEST(Cluster, a_network_slower_than_a_node_binds_the_ring) {
  Cluster c = two_levels();
  c.gpus_per_node = 1;
  const Cost cost = collective_cost(c, Verb::reduce_scatter, 1e6, {.ranks = 4});
  EXPECT_DOUBLE_EQ(cost.latency_ns, 30'000);
  EXPECT_DOUBLE_EQ(cost.between_ns, 0.75 * 1e6 / 50);
  EXPECT_DOUBLE_EQ(cost.inside_ns, 0);
}

TEST(Cluster, a_node_that_is_not_full_has_fewer_lanes) {
  // Nine ranks: the second node has one, so 8/9 of 1e9 bytes go through 50 GB/s.
  const Cost cost = collective_cost(two_levels(), Verb::all_gather, 1e9, {.ranks = 9});
  EXPECT_DOUBLE_EQ(cost.between_ns, 1e9 * 8 / 9 / 50);
  EXPECT_DOUBLE_EQ(cost.latency_ns, 80'000);
  // Twelve: four of them, 200 GB/s.
  EXPECT_DOUBLE_EQ(collective_cost(two_levels(), Verb::all_gather, 1e9, {.ranks = 12}).between_ns,
                   1e9 * 11 / 12 / 200);
}

TEST(Cluster, own_rings_are_no_trees) {
  Cluster c = two_levels();
  c.gpus_per_node = 1;
  // Four ranks: 2 * 3 rounds of 10 us; a tree would go up and down two levels, 40 us.
  const Placement own{.ranks = 4, .rings_only = true};
  EXPECT_DOUBLE_EQ(collective_cost(c, Verb::all_reduce, 8, own).latency_ns, 60'000);
  EXPECT_DOUBLE_EQ(collective_cost(c, Verb::all_reduce, 8, {.ranks = 4}).latency_ns, 40'000);
}

TEST(Cluster, one_rank_sends_nothing) {
  EXPECT_EQ(collective_cost(two_levels(), Verb::all_reduce, 1e9, {.ranks = 1}).ns(), 0);
}

TEST(Cluster, products_and_bytes_of_an_op_add_up) {
  Matmul o;
  o.m = 4, o.n = 6, o.k = 5;
  o.a = on(DType::bf16, 20), o.b = on(DType::bf16, 30), o.c = on(DType::bf16, 24);
  Cluster c = two_levels();
  c.memory_bytes_per_ns = 10;
  // 240 operations at 500 a nanosecond, 74 elements of 2 bytes.
  const Cost product = cost_of(c, o, {});
  EXPECT_DOUBLE_EQ(product.matrix_ns, 0.48);
  EXPECT_DOUBLE_EQ(product.memory_ns, 14.8);
  EXPECT_EQ(product.launch_ns, 1000);
  // A residual of 24 is read; by kernels of its own the sum writes the product and reads it again.
  o.residual = on(DType::bf16, 24);
  EXPECT_DOUBLE_EQ(cost_of(c, o, {}).memory_ns, 14.8 + 4.8);
  c.eager = true;
  EXPECT_DOUBLE_EQ(cost_of(c, o, {}).memory_ns, 14.8 + 4.8 + 9.6);
}

// Two products of 2 x 8 x 8 x 3 operations a sequence, half of them masked.
TEST(Cluster, attention_has_a_rate_of_its_own) {
  Attention attention;
  attention.batch = 2, attention.sequence = 8, attention.heads = 1, attention.head_dim = 3;
  attention.qkv = on(DType::bf16, 16 * 9), attention.out = on(DType::bf16, 16 * 3);
  Cluster c = two_levels();
  EXPECT_DOUBLE_EQ(cost_of(c, attention, {}).matrix_ns, 768 / 500.0);
  c.attention_flops_per_ns[DType::bf16] = 50;
  EXPECT_DOUBLE_EQ(cost_of(c, attention, {}).matrix_ns, 768 / 50.0);
}

TEST(Cluster, measured_costs_stand_in_front_of_the_rates) {
  Cluster c = two_levels();
  const Op clear = Clear{on(DType::f32, 1000)};
  c.ops["clear/f32"] = {50, 0, 0.25};
  EXPECT_DOUBLE_EQ(cost_of(c, clear, {}).ns(), 50 + 0.25 * 4000);
  c.verbs[Verb::all_reduce] = {2000, 0, 0.1, 0.3};
  // 2 * 3/4 of 4e6 bytes at 10 GB/s.
  EXPECT_DOUBLE_EQ(collective_cost(c, Verb::all_reduce, 4e6, {.ranks = 4}).ns(), 2000 + 600'000);
  // With half of the bytes out of the cache: 0.1 + 0.15 ns a byte.
  const Placement half{.ranks = 4, .cold_share = cold_share_of(64e6, 32e6)};
  EXPECT_DOUBLE_EQ(collective_cost(c, Verb::all_reduce, 4e6, half).ns(), 2000 + 1'500'000);
  EXPECT_EQ(cold_share_of(31e6, 32e6), 0);
  // Beyond the node nothing was measured.
  EXPECT_GT(collective_cost(c, Verb::all_reduce, 8, {.ranks = 16}).latency_ns, 20'000);
}

TEST(Cluster, an_update_moves_28_bytes_a_parameter) {
  AdamW full{on(DType::f32, 1000),
             {},
             on(DType::f32, 1000),
             on(DType::f32, 1000),
             on(DType::f32, 1000),
             {},
             {}};
  EXPECT_EQ(traffic_bytes(full), 28'000);
  // 2 + 2 of the weight's and the gradient's, 8 of the master's, 16 of the moments'.
  AdamW mixed{on(DType::bf16, 1000),
              on(DType::f32, 1000),
              on(DType::bf16, 1000),
              on(DType::f32, 1000),
              on(DType::f32, 1000),
              {},
              {}};
  EXPECT_EQ(traffic_bytes(mixed), 28'000);
}

TEST(Cluster, scratch_is_no_traffic_and_a_table_is_not_read_whole) {
  Matmul o;
  o.a = on(DType::f32, 6), o.b = on(DType::f32, 8), o.c = on(DType::f32, 12);
  o.scratch = on(DType::u8, 99);
  EXPECT_EQ(traffic_bytes(o), 4 * (6 + 8 + 12));
  o.adds = true;
  EXPECT_EQ(traffic_bytes(o), 4 * (6 + 8 + 12 + 12));
  Embed e;
  e.tokens = on(DType::i32, 10), e.table = on(DType::f32, 1'000'000), e.out = on(DType::f32, 160);
  EXPECT_EQ(traffic_bytes(e), 40 + 3 * 640);
}

TEST(Cluster, kinds_tell_transposes_and_types_apart) {
  Matmul o;
  o.a = on(DType::f32, 6), o.b = on(DType::f32, 8), o.c = on(DType::f32, 12);
  o.ta = true;
  EXPECT_EQ(kind_of(o), "matmul_tn/f32");
  EXPECT_EQ(kind_of(Cast{on(DType::f32, 4), on(DType::bf16, 4)}), "cast/bf16");
  CrossEntropyBackward loss;
  loss.targets = on(DType::i32, 4), loss.logits = on(DType::f16, 8);
  EXPECT_EQ(kind_of(loss), "cross_entropy_backward/f16");
}

TEST(Cluster, a_type_without_a_rate_is_refused) {
  Matmul o;
  o.m = o.n = o.k = 1;
  o.a = o.b = on(DType::f16, 1), o.c = on(DType::f16, 1);
  try {
    cost_of(two_levels(), o, {});
    FAIL();
  } catch (const InputError& e) {
    EXPECT_STREQ(e.what(),
                 "cluster example has no matrix rate for f16; give one, or train in another "
                 "--precision.");
  }
}

}  // namespace
}  // namespace shardmark
