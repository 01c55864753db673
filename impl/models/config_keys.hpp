#pragma once
// What does a key of a config.json hold? A key that holds null is as one that is not there, but
// where null itself says something (is_null). What is wrong is said in one sentence with the file,
// the key, what it is and what it may be.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/error.hpp"

namespace shardmark {

class ConfigKeys {
 public:
  // notes: where a default that changes the model is taken for an absent key, a sentence is added.
  ConfigKeys(const std::string& text, std::string file, std::vector<std::string>* notes = nullptr);

  bool has(const std::string& key) const { return find(key) != nullptr; }
  // It is there and holds null, for the few keys where that is not as absent.
  bool is_null(const std::string& key) const;
  bool holds(const std::string& key, const char* word) const;
  ConfigKeys below(const std::string& key) const;  // the object that the key holds
  // Of two names for one thing the one that is there, the first where none is.
  std::string either(const std::string& key, const std::string& alias) const;
  void note(const std::string& sentence) const;

  // figure: that it becomes (figures.hpp), which has the limits.
  std::size_t whole(const std::string& key, const char* figure) const;
  // because: why it is `otherwise` where the key is absent, "as num_attention_heads", for a note.
  std::size_t whole(const std::string& key, const char* figure, std::size_t otherwise,
                    const char* because = "") const;
  // The same, of what there may be none of.
  std::size_t whole_or_none(const std::string& key, const char* figure, std::size_t otherwise,
                            const char* because = "") const;
  bool flag(const std::string& key, bool otherwise, const char* because = "") const;
  double real(const std::string& key, const char* figure, double least = 0) const;  // above 0
  double real_or(const std::string& key, const char* figure, double otherwise) const;
  // One of those that are known, "silu, gelu"; an empty `otherwise`: must be there.
  std::string word(const std::string& key, const std::vector<std::string>& known,
                   const std::string& otherwise) const;
  std::vector<std::string> words(const std::string& key) const;  // of a list, which may be absent

  // What is wrong with the file as a whole.
  [[noreturn]] void refuse_all(const std::string& what) const;
  // What it is ("is 3", "is missing"), and what it may be ("must be even").
  [[noreturn]] void refuse(const std::string& key, const std::string& may) const;

 private:
  ConfigKeys(nlohmann::json all, const ConfigKeys& above, std::string path)
      : all_(std::move(all)), file_(above.file_), path_(std::move(path)), notes_(above.notes_) {}
  const nlohmann::json* find(const std::string& key) const;

  nlohmann::json all_;
  std::string file_, path_;  // path: "rope_scaling." in front of its keys
  std::vector<std::string>* notes_ = nullptr;
};

std::string joined(const std::vector<std::string>& words);  // "silu, gelu"

}  // namespace shardmark
