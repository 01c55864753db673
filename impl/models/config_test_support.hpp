#pragma once
// Which files do the tests of config.json read, and what comes of them?
#include <map>
#include <string>

#include "impl/models/config.hpp"
#include "kernels/error.hpp"

namespace shardmark::configs {

// A small file of each family, in which one key is replaced, or, with an empty value, left away.
inline std::string with(const std::string& family, const std::string& key,
                        const std::string& value) {
  const bool gpt2 = family == "gpt2";
  std::map<std::string, std::string> all{{"model_type", "\"" + family + "\""},
                                         {"vocab_size", "300"}};
  for (const auto& [k, v] :
       gpt2 ? std::map<std::string, std::string>{{"n_embd", "8"},
                                                 {"n_layer", "1"},
                                                 {"n_head", "2"},
                                                 {"n_positions", "16"}}
            : std::map<std::string, std::string>{{"hidden_size", "8"},
                                                 {"num_hidden_layers", "1"},
                                                 {"num_attention_heads", "2"},
                                                 {"num_key_value_heads", "1"},
                                                 {"intermediate_size", "6"},
                                                 {"max_position_embeddings", "16"}})
    all[k] = v;
  all[key] = value;
  std::string text;
  for (const auto& [k, v] : all)
    if (!v.empty()) text += (text.empty() ? "{" : ", ") + ("\"" + k + "\": " + v);
  return text + "}";
}

inline std::string outcome(const std::string& text) {
  try {
    return form_of_config(text, "c.json", false);
  } catch (const InputError& e) {
    return e.what();
  }
}

struct Wrong {
  const char *family, *key, *value, *sentence;
};

}  // namespace shardmark::configs
