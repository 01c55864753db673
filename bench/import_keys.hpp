#pragma once
// What does a key of a strategy config hold, and what became of it? Whoever reads a key says so in
// the lists of what is imported, and at the end every key of the file stands in one of them.
#include <nlohmann/json.hpp>
#include <set>

#include "bench/import.hpp"

namespace shardmark {

// One object of the file. A key that holds null is as one that is not there.
class ImportKeys {
 public:
  // names: of keys that the file calls something else, by the path they would have here.
  using Names = std::map<std::string, std::string>;
  ImportKeys(nlohmann::json all, std::string file, Imported& to, const Names* names = nullptr,
             std::string path = "");

  const nlohmann::json* find(const std::string& key) const;
  bool has(const std::string& key) const { return find(key) != nullptr; }
  bool is_auto(const std::string& key) const;
  ImportKeys below(const std::string& key);  // of an object; an empty one where it is absent
  // Absent (or "auto", which only some may be: ask first): nothing. Numbers and booleans may be
  // quoted, and 5e8 is a whole number.
  std::optional<bool> flag(const std::string& key) const;
  std::optional<std::int64_t> whole(const std::string& key, std::int64_t least,
                                    std::int64_t most) const;
  std::optional<double> real(const std::string& key, double least, double most) const;
  std::optional<std::string> word(const std::string& key,
                                  const std::vector<std::string>& known) const;  // small letters

  void map(const std::string& key, const std::string& flag, const std::string& value,
           const std::string& why = "");
  void say_mapped(const std::string& key, const std::string& became);
  void leave_open(const std::string& key, const std::string& who);
  void ignore(const std::string& key, const std::string& why);  // unless it was spoken of
  void lack(const std::string& key, const std::string& why);    // unsupported
  void done(const std::string& key) { below_.insert(key); }     // others say what became of it
  void note(const std::string& sentence) const { to_->notes.push_back(sentence); }
  // What nobody has spoken of yet; those of `known` change nothing, others are not known here.
  void ignore_rest(const std::vector<std::string>& known, const char* why);

  // What it is ("is 3", "is missing"), and what it may be ("must be even").
  [[noreturn]] void refuse(const std::string& key, const std::string& may) const;
  std::string shown(const std::string& key) const;  // the path, as the file calls it
  std::vector<std::string> unspoken() const;
  const std::string& file() const { return file_; }
  Imported& imported() const { return *to_; }

 private:
  std::string value_text(const std::string& key) const;
  void line(std::vector<Imported::Line>&, const std::string& key, const std::string& became);

  nlohmann::json all_;
  std::string file_, path_;
  const Names* names_;
  Imported* to_;
  std::set<std::string> spoken_, below_;  // below: whose keys speak for it
};

}  // namespace shardmark
