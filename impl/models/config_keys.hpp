#pragma once
// What does a key of a config.json hold? A key that holds null is as one that is not there. What is
// wrong is said in one sentence with the file, the key, what it is and what it may be.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/error.hpp"

namespace shardmark {

class ConfigKeys {
 public:
  ConfigKeys(const std::string& text, std::string file);

  bool has(const std::string& key) const { return find(key) != nullptr; }
  ConfigKeys below(const std::string& key) const;  // the object that the key holds

  // figure: that it becomes (figures.hpp), which has the limits.
  std::size_t whole(const std::string& key, const char* figure) const;
  std::size_t whole(const std::string& key, const char* figure, std::size_t otherwise) const;
  bool flag(const std::string& key, bool otherwise) const;
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
  ConfigKeys(nlohmann::json all, std::string file, std::string path)
      : all_(std::move(all)), file_(std::move(file)), path_(std::move(path)) {}
  const nlohmann::json* find(const std::string& key) const;

  nlohmann::json all_;
  std::string file_, path_;  // path: "rope_scaling." in front of its keys
};

}  // namespace shardmark
