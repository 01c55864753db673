// Do precision, recomputation, what stays whole and what does not learn become the cells that they
// say, and is refused what does not fit together?
#include <gtest/gtest.h>

#include <set>

#include "bench/suite.hpp"
#include "bench/test_support.hpp"
#include "impl/models/registry.hpp"

namespace shardmark {
namespace {

using Flags = std::map<std::string, std::string>;
using testing::refused;

Cell cell(const Flags& flags) {
  Given given = {{"--strategy", {"zero3"}}, {"--model", {"gpt:layers=1,width=8,heads=2"}}};
  for (const auto& [flag, value] : flags) given[flag] = {value};
  return cells_of(given, std::nullopt).at(0);
}

// From flags to a cell that can be trained.
std::string refusal(const Flags& flags) {
  return refused([&] { validate(cell(flags), 100'000); });
}

Options options(const Flags& flags) { return training_of(cell(flags), {}).options; }

TEST(cell_options, precision_decides_types_masters_and_scaling) {
  const Precision fp32 = options({}).precision;
  EXPECT_EQ(fp32.parameter, DType::f32);
  EXPECT_EQ(fp32.wire, DType::f32);
  EXPECT_FALSE(fp32.master || fp32.loss_scaling);
  const Precision bf16 = options({{"--precision", "bf16"}}).precision;
  EXPECT_EQ(bf16.parameter, DType::bf16);
  EXPECT_EQ(bf16.gradient, DType::bf16);
  EXPECT_EQ(bf16.wire, DType::bf16);
  EXPECT_EQ(bf16.master, DType::f32);
  EXPECT_FALSE(bf16.loss_scaling);
  const Precision fp16 = options({{"--precision", "fp16"}, {"--reduce-dtype", "fp32"}}).precision;
  EXPECT_EQ(fp16.parameter, DType::f16);
  EXPECT_EQ(fp16.wire, DType::f32);
  ASSERT_TRUE(fp16.loss_scaling);
  EXPECT_EQ(fp16.loss_scaling->initial, 65536);
  EXPECT_EQ(fp16.loss_scaling->window, 2000);
  const auto scaling =
      options({{"--precision", "fp16"}, {"--loss-scale", "1024"}, {"--loss-scale-window", "5"}})
          .precision.loss_scaling;
  EXPECT_EQ(scaling->initial, 1024);
  EXPECT_EQ(scaling->window, 5);
}

TEST(cell_options, what_is_resolved_stands_in_the_cell) {
  EXPECT_EQ(cell({}).reduce_dtype, "fp32");
  EXPECT_EQ(cell({}).loss_scale, 0);
  EXPECT_EQ(cell({{"--precision", "bf16"}}).reduce_dtype, "bf16");
  EXPECT_EQ(cell({{"--precision", "bf16"}}).loss_scale_window, 0);
  EXPECT_EQ(cell({{"--precision", "fp16"}}).loss_scale, 65536);
  EXPECT_EQ(cell({}).vocab, "own");
}

TEST(cell_options, buckets_hold_as_many_elements_as_their_bytes_carry) {
  EXPECT_EQ(options({{"--bucket-mb", "1"}}).bucket_elements, 250'000u);
  EXPECT_EQ(options({{"--bucket-mb", "1"}, {"--precision", "bf16"}}).bucket_elements, 500'000u);
  EXPECT_EQ(options({{"--bucket-mb", "1"}, {"--precision", "bf16"}, {"--reduce-dtype", "fp32"}})
                .bucket_elements,
            250'000u);
}

TEST(cell_options, memory_is_as_asked_for) {
  const Options usual = options({});
  EXPECT_EQ(usual.recompute, Recompute::none);
  EXPECT_TRUE(usual.keep_last);
  EXPECT_EQ(usual.persist_below, 0u);
  EXPECT_TRUE(usual.frozen.empty());
  const Options o =
      options({{"--recompute", "unit"}, {"--keep-last", "off"}, {"--persist-below", "100"}});
  EXPECT_EQ(o.recompute, Recompute::unit);
  EXPECT_FALSE(o.keep_last);
  EXPECT_EQ(o.persist_below, 100u);
}

// Names of gpt: wte, wpe, then by block ln1.gain ..., then the last norm.
TEST(cell_options, patterns_freeze_by_name) {
  const Options o = options({{"--freeze", "wte,h0.ln?.*"}});
  const Architecture a = make_architecture("gpt:layers=1,width=8,heads=2", 256);
  ASSERT_EQ(o.frozen.size(), a.parameters.size());
  std::set<std::string> frozen;
  for (std::size_t i = 0; i < o.frozen.size(); ++i)
    if (o.frozen[i]) frozen.insert(a.parameters[i].name);
  EXPECT_EQ(frozen, (std::set<std::string>{"wte", "h0.ln1.gain", "h0.ln1.bias", "h0.ln2.gain",
                                           "h0.ln2.bias"}));
}

TEST(cell_options, a_pattern_without_a_match_or_with_all_is_refused) {
  EXPECT_EQ(refusal({{"--freeze", "wtr"}}),
            "--freeze \"wtr\" matches no parameter of gpt:layers=1,width=8,heads=2; its names are "
            "such as wte and lnf.bias; did you mean wte?");
  EXPECT_EQ(refusal({{"--freeze", "wte,layers.*"}}),
            "--freeze \"layers.*\" matches no parameter of gpt:layers=1,width=8,heads=2; "
            "its names "
            "are such as wte and lnf.bias.");
  EXPECT_EQ(refusal({{"--freeze", "w*,*"}}),
            "--freeze \"w*,*\" freezes all parameters of gpt:layers=1,width=8,heads=2, and "
            "nothing "
            "is left to train; leave one, such as lnf.bias.");
  EXPECT_EQ(refusal({{"--freeze", "wte,"}}),
            "--freeze is \"wte,\", which has an empty entry between its commas.");
  EXPECT_EQ(refusal({{"--freeze", "wte"}}), "");
}

TEST(cell_options, what_does_not_fit_together_is_refused) {
  EXPECT_EQ(refusal({{"--reduce-dtype", "fp16"}}),
            "--reduce-dtype fp16 needs the loss scale of --precision fp16, since small gradients "
            "vanish in it; with fp32 it may be fp32 or bf16.");
  EXPECT_NE(refusal({{"--precision", "bf16"}, {"--reduce-dtype", "fp16"}}), "");
  EXPECT_EQ(refusal({{"--precision", "bf16"}, {"--loss-scale", "65536"}}),
            "--loss-scale 65536 is for --precision fp16; the loss of bf16 is not "
            "scaled.");
  EXPECT_EQ(refusal({{"--loss-scale-window", "10"}}),
            "--loss-scale-window 10 is for --precision fp16; the loss of fp32 is not scaled.");
  EXPECT_EQ(refusal({{"--precision", "fp16"}, {"--reduce-dtype", "bf16"}}),
            "--reduce-dtype bf16 does not fit --precision fp16: a 2-byte gradient travels as "
            "itself or in fp32.");
  EXPECT_EQ(refusal({{"--reduce-dtype", "bf16"}}), "");
  for (const char* type : {"fp32", "bf16", "fp16"}) {
    EXPECT_EQ(refusal({{"--precision", type}}), "");
    EXPECT_EQ(refusal({{"--precision", type}, {"--reduce-dtype", "fp32"}}), "");
  }
}

TEST(cell_options, values_that_may_not_be_are_refused) {
  EXPECT_EQ(refusal({{"--precision", "bf61"}}),
            "--precision \"bf61\" is unknown; it may be fp32 or bf16 or fp16 or tf32; did you mean "
            "bf16?");
  EXPECT_EQ(refusal({{"--reduce-dtype", "f32"}}),
            "--reduce-dtype \"f32\" is unknown; it may be fp32 or bf16 or fp16; did you mean "
            "fp32?");
  EXPECT_EQ(refusal({{"--precision", "fp16"}, {"--loss-scale", "0.5"}}),
            "--loss-scale is \"0.5\", but must be a number of at least 1 and at most 16777216.");
  EXPECT_EQ(refusal({{"--precision", "fp16"}, {"--loss-scale", "1000"}}),
            "--loss-scale is \"1000\", but must be a power of two, such as 512 or 1024.");
  EXPECT_EQ(refusal({{"--precision", "fp16"}, {"--loss-scale", "16777216"}}), "");
  EXPECT_EQ(refusal({{"--precision", "fp16"}, {"--loss-scale-window", "0"}}),
            "--loss-scale-window is \"0\", but must be a whole number from 1 to 1000000000.");
  EXPECT_EQ(refusal({{"--recompute", "all"}}),
            "--recompute \"all\" is unknown; it may be none or unit.");
  EXPECT_EQ(refusal({{"--persist-below", "-1"}}),
            "--persist-below is \"-1\", but must be a whole number from 0 to 1000000000000.");
  EXPECT_NE(refusal({{"--keep-last", "yes"}}), "");
  EXPECT_EQ(refusal({{"--accumulate", "0"}}),
            "--accumulate is \"0\", but must be a whole number from 1 to 10000.");
  EXPECT_EQ(refusal({{"--vocab", "own"}}),
            "--vocab \"own\" is unknown; it may be config or bytes.");
}

// GPT-2's config.json, of a smaller model.
const char* const config = R"({"model_type": "gpt2", "n_embd": 16, "n_layer": 2, "n_head": 2,
  "n_positions": 64, "vocab_size": 300, "activation_function": "gelu_new"})";

TEST(cell_options, a_config_becomes_a_form_under_its_name) {
  const testing::Folder folder;
  std::filesystem::create_directory(folder / "tiny-gpt");
  const std::string file = folder / "tiny-gpt/config.json", other = folder / "small.json";
  testing::write(file, config);
  testing::write(other, config);
  const auto parameters = [](const Cell& c) {
    return make_architecture(c.model, 64).parameter_count();
  };
  const Cell own = cell({{"--model", file}, {"--sequence", "64"}});
  EXPECT_EQ(own.config, "tiny-gpt");
  EXPECT_EQ(own.vocab, "config");
  // Tables 300 x 16 and 64 x 16; blocks of 12 x 16 x 16 weights and 13 x 16 others; the last norm.
  const std::size_t rest = 64 * 16 + 2 * (12 * 16 * 16 + 13 * 16) + 2 * 16;
  EXPECT_EQ(parameters(own), 300 * 16 + rest);
  const Cell bytes = cell({{"--model", file}, {"--vocab", "bytes"}});
  EXPECT_EQ(bytes.vocab, "bytes");
  EXPECT_EQ(parameters(bytes), 256 * 16 + rest);
  EXPECT_EQ(cell({{"--model", other}}).config, "small");
  std::set<std::string> ids;
  for (const Cell& c : {own, bytes, cell({{"--model", other}, {"--sequence", "64"}})}) {
    EXPECT_TRUE(ids.insert(id_of(c)).second) << id_of(c);
    EXPECT_EQ(cell_from_json(to_json(c)), c) << id_of(c);
    EXPECT_EQ(id_of(c).find("n_embd"), std::string::npos);
  }
  EXPECT_TRUE(id_of(own).starts_with("tiny-gpt~")) << id_of(own);
  EXPECT_EQ(refusal({{"--model", file}, {"--sequence", "64"}}), "");
}

// Both cells are of one file, which is said once.
TEST(cell_options, a_default_of_a_config_is_said_once) {
  const testing::Folder folder;
  const std::string file = folder / "small.json";
  testing::write(file, R"({"model_type": "mistral", "hidden_size": 64, "num_hidden_layers": 1,
      "num_attention_heads": 16, "intermediate_size": 6, "vocab_size": 300, "sliding_window": 8,
      "max_position_embeddings": 16, "tie_word_embeddings": false})");
  std::vector<std::string> notes;
  cells_of({{"--model", {file}}, {"--strategy", {"ddp,zero1"}}}, {}, &notes);
  EXPECT_EQ(notes, std::vector<std::string>{
                       file + ": \"num_key_value_heads\" is absent: 8, as MistralConfig has it."});
}

TEST(cell_options, a_vocabulary_is_a_configs) {
  EXPECT_EQ(refusal({{"--vocab", "bytes"}, {"--model", "gpt-nano"}}),
            "--vocab bytes is for --model FILE.json; --model gpt-nano says its own vocabulary.");
  EXPECT_NE(refusal({{"--model", "missing.json"}}).find("missing.json"), std::string::npos);
  nlohmann::json c = to_json(cell({}));
  c["vocab"] = "config";
  EXPECT_EQ(refused([&] { validate(cell_from_json(c), 100'000); }),
            "a cell's \"vocab\" is config, but its \"config\" names no file that its model came "
            "from.");
}

// Every option changes nothing where a strategy has no use for it, and can be given to all of them.
TEST(cell_options, of_zero3_can_be_given_to_all) {
  for (const Cell& c : cells_of({{"--persist-below", {"100"}},
                                 {"--prefetch", {"0,3"}},
                                 {"--keep-last", {"off,on"}},
                                 {"--model", {"gpt:layers=1,width=8,heads=2"}}}))
    EXPECT_EQ(refused([&] { validate(c, 100'000); }), "") << id_of(c);
}

TEST(cell_options, ids_and_json_keep_every_field) {
  std::set<std::string> ids = {id_of(cell({}))};
  for (const Flags& flags :
       std::vector<Flags>{{{"--precision", "bf16"}},
                          {{"--precision", "bf16"}, {"--reduce-dtype", "fp32"}},
                          {{"--precision", "fp16"}},
                          {{"--precision", "fp16"}, {"--loss-scale", "1024"}},
                          {{"--precision", "fp16"}, {"--loss-scale-window", "7"}},
                          {{"--reduce-dtype", "bf16"}},
                          {{"--recompute", "unit"}},
                          {{"--keep-last", "off"}},
                          {{"--persist-below", "100"}},
                          {{"--freeze", "wte"}},
                          {{"--freeze", "wte*"}},
                          {{"--freeze", "wte,h0.*"}},
                          {{"--freeze", "wte,h1.*"}}}) {
    const Cell c = cell(flags);
    EXPECT_TRUE(ids.insert(id_of(c)).second) << id_of(c);
    EXPECT_EQ(cell_from_json(to_json(c)), c) << id_of(c);
    EXPECT_EQ(id_of(c).find_first_of(" *"), std::string::npos) << id_of(c);
  }
  EXPECT_EQ(id_of(cell({{"--precision", "bf16"}, {"--reduce-dtype", "fp32"}})),
            "gpt:layers=1,width=8,heads=2/zero3/n2/overlap-on/bf16/reduce-fp32");
}

// A cell's file is held to what flags can say, and to what fits together.
TEST(cell_options, a_cells_file_is_refused_alike) {
  const auto sentence = [](const char* key, const nlohmann::json& value,
                           const char* precision = "fp32") {
    nlohmann::json c = to_json(cell({{"--precision", precision}}));
    c[key] = value;
    return refused([&] { validate(cell_from_json(c), 100'000); });
  };
  EXPECT_EQ(
      sentence("precision", "fp31"),
      "a cell's \"precision\" \"fp31\" is unknown; it may be fp32 or bf16 or fp16 or tf32; did you "
      "mean fp32?");
  EXPECT_EQ(sentence("recompute", true),
            "a cell's \"recompute\" is true, which is of the wrong "
            "type.");
  EXPECT_EQ(sentence("loss_scale", 0.5, "fp16"),
            "a cell's \"loss_scale\" is \"0.5\", but must be a number of at least 1 and at most "
            "16777216.");
  EXPECT_EQ(sentence("loss_scale", 0, "fp16"),
            "a cell's \"loss_scale\" or \"loss_scale_window\" is 0, but --precision fp16 needs "
            "both.");
  EXPECT_NE(sentence("loss_scale", 2), "");
  EXPECT_NE(sentence("freeze", "wte"), "");
  EXPECT_NE(sentence("freeze", {"nothing"}), "");
  EXPECT_EQ(sentence("freeze", {"wte"}), "");
}

}  // namespace
}  // namespace shardmark
