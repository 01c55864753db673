// Which cells do lists of options become, what may older cells leave out, and what does a model ask
// of the text?
#include <gtest/gtest.h>

#include <set>

#include "bench/suite.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using testing::refused;

constexpr const char* small = "gpt:layers=1,width=8,heads=2";

std::vector<Cell> cells(Given given, std::vector<std::string>* notes = nullptr) {
  given.emplace("--model", std::vector<std::string>{small});
  given.emplace("--strategy", std::vector<std::string>{"ddp"});
  return cells_of(given, std::nullopt, notes);
}

TEST(cell_lists, a_loss_scale_is_for_the_precision_that_has_one) {
  const auto all = cells({{"--precision", {"fp32,fp16"}}, {"--loss-scale", {"1024"}}});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].loss_scale, 0);
  EXPECT_EQ(all[1].loss_scale, 1024);
  for (const Cell& c : all) EXPECT_EQ(refused([&] { validate(c, 100'000); }), "");
  EXPECT_NE(refused([&] {
              validate(cells({{"--precision", {"fp32"}}, {"--loss-scale", {"1024"}}})[0], 100'000);
            }),
            "");
}

TEST(cell_lists, pairs_that_cannot_be_are_left_out_with_a_note) {
  std::vector<std::string> notes;
  const auto all =
      cells({{"--precision", {"fp32,bf16,fp16"}}, {"--reduce-dtype", {"fp32,bf16,fp16"}}}, &notes);
  // fp32 travels in fp32 and bf16; two bytes as themselves and in fp32.
  EXPECT_EQ(all.size(), 6u);
  for (const Cell& c : all) EXPECT_EQ(refused([&] { validate(c, 100'000); }), "") << id_of(c);
  EXPECT_EQ(notes,
            (std::vector<std::string>{
                "--precision bf16 --reduce-dtype fp16, --precision fp16 --reduce-dtype bf16, "
                "--precision fp32 --reduce-dtype fp16 cannot be and are left out."}));
  // Where nothing is left, validate() says why.
  EXPECT_EQ(cells({{"--precision", {"bf16"}}, {"--reduce-dtype", {"fp16"}}}).size(), 1u);
}

TEST(cell_lists, what_only_zero3_looks_at_makes_no_others_twice) {
  std::multiset<std::string> ids;
  for (const Cell& c : cells({{"--strategy", {"ddp,zero3"}},
                              {"--persist-below", {"0,1000"}},
                              {"--keep-last", {"off,on"}}}))
    ids.insert(c.strategy + std::to_string(c.persist_below) + (c.keep_last ? "on" : "off"));
  EXPECT_EQ(ids, (std::multiset<std::string>{"ddp0off", "zero30off", "zero30on", "zero31000off",
                                             "zero31000on"}));
  // One value is everybody's, so that one table has them all.
  const auto one = cells({{"--strategy", {"ddp,zero3"}}, {"--persist-below", {"1000"}}});
  ASSERT_EQ(one.size(), 2u);
  EXPECT_EQ(one[0].persist_below, 1000);
}

TEST(cell_lists, frozen_patterns_keep_their_sets_and_stand_once) {
  const auto patterns = [](const char* text) { return cells({{"--freeze", {text}}})[0].freeze; };
  using List = std::vector<std::string>;
  EXPECT_EQ(patterns("h[0,1].*,wte"), (List{"h[0,1].*", "wte"}));
  EXPECT_EQ(patterns("wte,wpe,wte"), (List{"wte", "wpe"}));
  EXPECT_EQ(patterns("h[0,wte"), (List{"h[0", "wte"}));
  EXPECT_EQ(patterns("[],].x,a"), (List{"[],].x", "a"}));
}

TEST(cell_lists, a_text_may_have_no_byte_beyond_the_vocabulary) {
  Cell c = cells({{"--model", {std::string(small) + ",vocabulary=100"}}})[0];
  EXPECT_EQ(refused([&] { validate(c, 100'000, 99); }), "");
  EXPECT_EQ(refused([&] { validate(c, 100'000, 226); }),
            "the built-in corpus has byte 226, but the vocabulary of --model "
            "gpt:layers=1,width=8,heads=2,vocabulary=100 is 100; give a model with at least 227.");
  c.config = "tiny", c.vocab = "config", c.data = {"a.txt"};
  EXPECT_EQ(refused([&] { validate(c, 100'000, 100); }),
            "--data a.txt has byte 100, but the vocabulary of --model tiny is 100; give --vocab "
            "bytes, or a model with at least 101.");
  // The corpus that is used: its largest byte is z.
  EXPECT_EQ(load_text({}).largest(), 'z');
  EXPECT_NE(refused([&] {
              validate(std::vector<Cell>{
                  cells({{"--model", {std::string(small) + ",vocabulary=122"}}})[0]});
            }),
            "");
}

TEST(cell_lists, a_configs_figures_are_said_by_their_keys) {
  const testing::Folder folder;
  std::filesystem::create_directory(folder / "tiny");
  testing::write(folder / "tiny/config.json",
                 R"({"model_type": "gpt2", "n_embd": 16, "n_layer": 2, "n_head": 2,
                     "n_positions": 64, "vocab_size": 300})");
  const std::string path = folder / "tiny";
  const auto refusal = [&](const Given& given) {
    return refused([&] { validate(cells(given)[0], 100'000); });
  };
  EXPECT_EQ(refusal({{"--model", {path + "/config.json"}}, {"--sequence", {"65"}}}),
            "--model tiny: max_position_embeddings (or n_positions) is 64, but the sequence is 65: "
            "give a --sequence of at most 64");
  EXPECT_EQ(refusal({{"--model", {path}}}),
            "--model \"" + path + "\" is a folder; its model is --model " + path + "/config.json.");
  EXPECT_TRUE(refusal({{"--model", {"gpt-nona"}}, {"--vocab", {"bytes"}}})
                  .starts_with("--model \"gpt-nona\" is unknown"));
}

TEST(cell_lists, a_vocabulary_of_a_config_is_said_with_one) {
  nlohmann::json c = to_json(cells({})[0]);
  EXPECT_EQ(c["vocab"], "own");
  c["config"] = "tiny";
  EXPECT_EQ(refused([&] { validate(cell_from_json(c), 100'000); }),
            "a cell's \"vocab\" is own, but with a \"config\", tiny, it must be config or bytes.");
}

// What a run planned before there were precisions is gone on with as it was.
TEST(cell_lists, cells_from_before_precision_have_its_defaults) {
  const Cell now = cells({})[0];
  nlohmann::json old = to_json(now);
  for (const char* key : {"keep_last", "persist_below", "precision", "reduce_dtype", "loss_scale",
                          "loss_scale_window", "recompute", "freeze", "vocab", "config"})
    old.erase(key);
  EXPECT_EQ(cell_from_json(old), now);
  EXPECT_EQ(id_of(cell_from_json(old)), old["id"].get<std::string>());
  old["precision"] = "bf16";
  EXPECT_EQ(refused([&] { cell_from_json(old); }), "a cell lacks the key \"keep_last\".");
}

}  // namespace
}  // namespace shardmark
