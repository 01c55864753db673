// Are the hand-written backward passes right? Against an independent forward pass in double,
// written here from the papers' formulas, and its finite differences over every parameter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "impl/comm/dry.hpp"
#include "impl/corpus.hpp"
#include "impl/models/registry.hpp"
#include "impl/state.hpp"
#include "kernels/cpu/device.hpp"
#include "reference.hpp"

namespace shardmark {
namespace {

constexpr std::size_t sequence = 5, batch = 2;

class Alone final : public World {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::vector<std::string> gather(const std::string& mine) override { return {mine}; }
  void fail(Failure) noexcept override {}
  void check() const override {}
};

struct Outcome {
  std::vector<double> parameters, gradients;  // in parameter order; of what is not frozen
  double loss = 0;
};

Corpus corpus() {
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 60; ++i) bytes.push_back(static_cast<std::uint8_t>(i * 37 + i * i));
  return Corpus(bytes, {batch, sequence, 1, 0, 1, 1, 3});
}

// One forward and backward of the product's own model on the CPU; weights moved away from their
// start, where biases are zero and gains one, so that no term can hide.
Outcome measured(const std::string& name, const Architecture& a, const Options& o = {}) {
  CpuDevice device({});
  Alone world;
  DryCommunicator comm(device, 1, 0);
  Rank rank{world, comm, device};
  const Layout layout(a, o, 1, 0, false);
  State params(device, layout, Tag::parameter, DType::f32, Form::whole),
      grads(device, layout, Tag::gradient, DType::f32, Form::whole, Which::trainable);
  params.initialize(a, 11);
  const auto model = make_model(rank, name, a, o, sequence, batch);
  Outcome out;
  for (int p = 0; p < layout.parameters(); ++p)
    for (std::size_t i = 0;
         const float& w : params.views()[static_cast<std::size_t>(p)].host<float>()) {
      const_cast<float&>(w) += 0.1f * std::sin(static_cast<float>(p + 1) * static_cast<float>(++i));
      out.parameters.push_back(w);
    }
  const Corpus c = corpus();
  model->load(c.batch(0), 0);
  for (int u = 0; u < layout.units(); ++u) model->forward(u, params.views(), Event::none());
  for (int u = layout.units(); u-- > 0;)
    model->backward(u, params.views(), grads.views(), Event::none());
  device.drain();
  for (const View& g : grads.views())
    if (g)
      for (float x : g.host<float>()) out.gradients.push_back(x);
  out.loss = model->losses().host<double>()[0];
  return out;
}

void expect_right(const std::string& name) {
  const Architecture a = make_architecture(name, sequence, batch);
  Outcome m = measured(name, a);
  const Corpus c = corpus();
  const reference::Input in{c.batch(0).micros[0].tokens.host<std::int32_t>(),
                            c.batch(0).micros[0].targets.host<std::int32_t>(), batch, sequence};
  const ModelShape shape = shape_of(name, sequence, batch);
  const auto loss = [&] { return reference::loss(shape, in, m.parameters); };
  EXPECT_NEAR(m.loss, loss(), 1e-5) << name;
  double worst = 0, squares = 0;
  for (std::size_t i = 0; i < m.parameters.size(); ++i) {
    const double at = m.parameters[i], h = 1e-5;
    m.parameters[i] = at + h;
    const double up = loss();
    m.parameters[i] = at - h;
    const double down = loss();
    m.parameters[i] = at;
    const double numeric = (up - down) / (2 * h);
    worst = std::max(worst, std::abs(numeric - m.gradients[i]));
    squares += numeric * numeric;
  }
  EXPECT_GT(std::sqrt(squares), 0.1) << name << ": a gradient that is nearly zero proves nothing";
  EXPECT_LT(worst, 3e-6 * std::max(1.0, std::sqrt(squares))) << name;
}

TEST(Model, GptBackwardIsTheDerivativeOfItsForward) {
  expect_right("gpt:layers=2,width=6,heads=2,tied=1");
  expect_right("gpt:layers=1,width=6,heads=3,tied=0");
}

TEST(Model, GptBackwardIsRightForFiguresThatAreNotUsual) {
  expect_right("gpt:layers=2,width=4,heads=2,inner=7,vocabulary=261,positions=9,epsilon=0.01");
}

TEST(Model, LlamaBackwardIsTheDerivativeOfItsForward) {
  expect_right("llama:layers=2,width=6,heads=1");
  expect_right("llama:layers=1,width=8,heads=4,kv_heads=2,inner=5,tied=0,epsilon=0.01,theta=50");
  // The heads are together wider than the model, and share one key and value.
  expect_right("llama:layers=2,width=4,heads=3,kv_heads=1,head_dim=2,inner=6,vocabulary=259");
}

TEST(Model, LlamaBackwardIsRightWithBiasesAndScaledPositions) {
  for (const char* bias : {"qkv_bias", "o_bias", "mlp_bias"})
    expect_right(fmt::format("llama:layers=1,width=4,heads=2,inner=3,{}=1", bias));
  expect_right("llama:layers=1,width=4,heads=2,qkv_bias=1,o_bias=1,mlp_bias=1,rope_factor=3");
  // At 5 positions one of a head's three pairs turns as it did, one slower, one in between.
  expect_right(
      "llama:layers=1,width=6,heads=1,theta=8,rope_factor=4,rope_low=0.2,rope_high=0.7,"
      "rope_original=5");
}

TEST(Model, MlpBackwardIsTheDerivativeOfItsForward) {
  expect_right("mlp:layers=3,width=7");
  expect_right("mlp:layers=1,width=5");
}

const char* const deep[] = {
    "gpt:layers=3,width=8,heads=2", "llama:layers=3,width=8,heads=4,kv_heads=2,mlp_bias=1",
    "llama:layers=3,width=8,heads=2,tied=0,qkv_bias=1,o_bias=1", "mlp:layers=4,width=9"};

TEST(Model, ComputingActivationsAgainGivesTheSameBits) {
  for (const std::string name : deep) {
    const Architecture a = make_architecture(name, sequence, batch);
    Options again;
    again.recompute = Recompute::unit;
    const Outcome kept = measured(name, a), twice = measured(name, a, again);
    EXPECT_EQ(kept.loss, twice.loss) << name;
    EXPECT_EQ(kept.gradients, twice.gradients) << name;
  }
}

TEST(Model, AFrozenBeginningLeavesTheOtherGradientsAsTheyAre) {
  for (const std::string name : deep) {
    const Architecture a = make_architecture(name, sequence, batch);
    Options o;  // the embedding and two blocks, or two layers; what the head shares is not in it
    o.frozen.assign(a.parameters.size(), false);
    for (std::size_t u = 0; u < 3; ++u)
      for (int p : a.units[u].uses)
        if (p != a.units.back().uses.back()) o.frozen[static_cast<std::size_t>(p)] = true;
    const Outcome all = measured(name, a), rest = measured(name, a, o);
    std::vector<double> expected;
    for (std::size_t p = 0, at = 0; p < a.parameters.size(); at += a.parameters[p++].size)
      if (!o.frozen[p])
        expected.insert(
            expected.end(), all.gradients.begin() + static_cast<std::ptrdiff_t>(at),
            all.gradients.begin() + static_cast<std::ptrdiff_t>(at + a.parameters[p].size));
    ASSERT_GT(expected.size(), 0u);
    EXPECT_EQ(rest.loss, all.loss) << name;
    EXPECT_EQ(rest.gradients, expected) << name;
  }
}

TEST(Model, AWeightThatIsNotHereIsAnError) {
  const Architecture a = make_architecture("gpt:layers=1,width=4,heads=1", sequence, batch);
  CpuDevice device({});
  Alone world;
  DryCommunicator comm(device, 1, 0);
  Rank rank{world, comm, device};
  const Options o;
  const auto model = make_model(rank, "gpt:layers=1,width=4,heads=1", a, o, sequence, batch);
  const std::vector<View> nothing(a.parameters.size());
  EXPECT_THROW(model->forward(0, nothing, Event::none()), Error);
}

}  // namespace
}  // namespace shardmark
