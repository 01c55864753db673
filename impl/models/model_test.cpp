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
  std::vector<double> parameters, gradients;  // in parameter order
  double loss = 0;
};

Corpus corpus() {
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 60; ++i) bytes.push_back(static_cast<std::uint8_t>(i * 37 + i * i));
  return Corpus(bytes, {batch, sequence, 1, 0, 1, 1, 3});
}

// One forward and backward of the product's own model on the CPU; weights moved away from their
// start, where biases are zero and gains one, so that no term can hide.
Outcome measured(const std::string& name, const Architecture& a) {
  CpuDevice device({});
  Alone world;
  DryCommunicator comm(device, 1, 0);
  Rank rank{world, comm, device};
  const Options o;
  const Layout layout(a, o, 1, 0, false);
  State params(device, layout, Tag::parameter, DType::f32, Form::whole),
      grads(device, layout, Tag::gradient, DType::f32, Form::whole);
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
  const auto loss = [&] { return reference::loss(a, in, m.parameters); };
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

TEST(Model, MlpBackwardIsTheDerivativeOfItsForward) {
  expect_right("mlp:layers=3,width=7");
  expect_right("mlp:layers=1,width=5");
}

TEST(Model, CountsParametersAsTheLiteratureDoes) {
  // GPT-2 small without its vocabulary: 12 layers of 12 d^2 + 13 d, the last norm 2 d, positions T
  // d (d = 768, T = 1024); with 256 bytes instead of 50,257 tokens the embedding is 256 d.
  const std::size_t d = 768;
  EXPECT_EQ(make_architecture("gpt:layers=12,width=768,heads=12", 1024).parameter_count(),
            124'439'808 - (50'257 - 256) * d);
  EXPECT_EQ(make_architecture("mlp-3x1024", 1).parameter_count(),
            2 * (1024 * 1024 + 1024) + 1024 * 256 + 256u);
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

TEST(Model, RefusesShapesThatDoNotFit) {
  const auto sentence = [](const std::string& model) {
    try {
      make_architecture(model, 8);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(sentence("gpt:layers=2,width=10,heads=3"),
            "model 'gpt:layers=2,width=10,heads=3': width 10 is not divisible by heads 3");
  EXPECT_EQ(sentence("gpt:layers=2,width=10"),
            "model 'gpt:layers=2,width=10': heads must be 1 or more");
  EXPECT_EQ(sentence("gpt:layers=x,width=10,heads=1"),
            "model 'gpt:layers=x,width=10,heads=1': layers is 'x', but must be a whole number");
  EXPECT_EQ(
      sentence("gpt:layers=2,width=10,heads=11"),
      "model 'gpt:layers=2,width=10,heads=11': heads is 11, but may be at most the width, 10");
  EXPECT_EQ(sentence("mlp:layers=2,layers=4,width=8"),
            "model 'mlp:layers=2,layers=4,width=8': layers is given twice; give it once");
  EXPECT_EQ(
      sentence("mlp:deep=1"),
      "model 'mlp:deep=1': 'deep=1' is not a field of this family, which takes layers, width");
  EXPECT_NE(sentence("lstm").find("model 'lstm' is unknown: it may be mlp-3x1024, gpt-nano"),
            std::string::npos);
}

// Each of these would otherwise fill the memory with names and numbers before anything runs.
TEST(Model, RefusesShapesThatNoMachineHolds) {
  const auto sentence = [](const std::string& form) {
    try {
      make_architecture(form, 8);
    } catch (const InputError& e) {
      return std::string(e.what()).substr(form.size() + 10);
    }
    return std::string("accepted");
  };
  EXPECT_EQ(sentence("gpt:layers=999999999,width=999999999,heads=1"),
            "layers is 999999999, but must be at most 10000");
  EXPECT_EQ(sentence("mlp:layers=1000000000,width=2"),
            "layers is 1000000000, but must be at most 10000");
  EXPECT_EQ(sentence("mlp:layers=2,width=1000001"),
            "width is 1000001, but must be at most 1000000");
  EXPECT_EQ(sentence("mlp:layers=99999999999999999999,width=2"),
            "layers is 99999999999999999999, but must be at most 10000");
  EXPECT_EQ(sentence("mlp:layers=10000,width=1000000"),
            "it has 1e+16 parameters, but may have at most 1e+12");
  EXPECT_EQ(sentence("gpt:layers=10000,width=10000,heads=1"),
            "it has 1.2e+13 parameters, but may have at most 1e+12");
  EXPECT_EQ(make_architecture("mlp:layers=10000,width=2", 8).units.size(), 10'000u);
}

}  // namespace
}  // namespace shardmark
