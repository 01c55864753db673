#pragma once
// What model is a Hugging Face config.json, as data? For families that are trained here that which
// runs, for others an outline (outline.hpp): so a run can be predicted that cannot be made here.
// Keys that change neither the count nor the shape are passed over.
#include <string>
#include <vector>

#include "impl/architecture.hpp"

namespace shardmark {

struct ModelConfig {
  std::string family;         // "mixtral"
  std::string form;           // the free form that runs it; empty: it can only be predicted
  Architecture architecture;  // with its own vocabulary
  // Parameters that one token uses: of experts those it is routed to and those shared by all.
  std::size_t active = 0;
  // Those of tables of tokens, positions and token types, and of the head (with its bias) where it
  // is not tied. Where it is, the table counts once.
  std::size_t embedding = 0;
  std::vector<std::string>
      notes;  // a sentence each: which defaults were taken, what is not counted
};

// What `embedding` counts, of any architecture.
std::size_t embedding_parameters(const Architecture&);

// file: for the sentence where something is wrong (InputError), which names file and key.
ModelConfig read_model_config(const std::string& json_text, const std::string& file,
                              std::size_t sequence, std::size_t batch);

}  // namespace shardmark
