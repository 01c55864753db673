// Which units run backward, keep what they computed and read their weights again, and which
// products run? Counted by hand.
#include "impl/passes.hpp"

#include <gtest/gtest.h>

#include "impl/models/registry.hpp"

namespace shardmark {
namespace {

constexpr std::size_t sequence = 8;

// Width 4, sequence 8: a linear map of (in, out) is 2 * 8 * in * out, forward, and as much again
// for each of its gradients.
constexpr double linear = 2 * 8 * 4 * 4;

Architecture gpt() { return make_architecture("gpt:layers=2,width=4,heads=1", sequence); }

// 12 maps of width 4 by 4 (qkv 3, proj 1, fc 4, out 4), and two products of attention of which half
// is needed, four backward.
constexpr double attention = 2 * 8 * 8 * 4, block = 12 * linear + attention;
constexpr double head = 2 * 8 * 256 * 4;

TEST(Passes, EverythingRunsWhereEverythingIsTrained) {
  const Architecture a = gpt();
  EXPECT_DOUBLE_EQ(flops_of(a, {}), 2 * 3 * block + 3 * head);
  for (const Passes& p : passes_of(a, {})) {
    EXPECT_TRUE(p.backward && p.keeps);
    EXPECT_FALSE(p.again);
  }
}

// wpe and the first block; the embedding's table is tied to the head, and not trained either.
TEST(Passes, NothingRunsBackwardBeforeWhatIsTrained) {
  const Architecture a = gpt();
  Options o;
  for (std::size_t p = 0; p < a.parameters.size(); ++p) o.frozen.push_back(p < 14);
  const std::vector<Passes> passes = passes_of(a, o);
  EXPECT_FALSE(passes[0].backward || passes[0].keeps || passes[0].reads_behind);
  EXPECT_FALSE(passes[1].backward || passes[1].keeps || passes[1].reads_behind);
  EXPECT_TRUE(passes[2].backward && passes[2].keeps && passes[2].reads_behind);
  // Forward of all; backward of the second block, and of the head without its table's gradient.
  EXPECT_DOUBLE_EQ(flops_of(a, o), 2 * block + head + 2 * block + head);
}

// Only the product for its gradient is left out where a weight in between is not trained.
TEST(Passes, AFrozenWeightHasNoProductForItsGradient) {
  const Architecture a = gpt();
  Options o;
  o.frozen.assign(a.parameters.size(), false);
  o.frozen[4] = true;
  EXPECT_EQ(a.parameters[4].name, "h0.qkv.weight");
  EXPECT_DOUBLE_EQ(flops_of(a, o), 2 * 3 * block + 3 * head - 3 * linear);
}

TEST(Passes, RecomputingDropsAllButTheLastAndTheEmbedding) {
  const Architecture a = gpt();
  Options o;
  o.recompute = Recompute::unit;
  const std::vector<Passes> passes = passes_of(a, o);
  EXPECT_TRUE(passes[1].again && passes[2].again);
  EXPECT_FALSE(passes[0].again || passes[3].again);  // nothing to drop; needed at once
  EXPECT_DOUBLE_EQ(flops_of(a, o), flops_of(a, {}));
}

}  // namespace
}  // namespace shardmark
