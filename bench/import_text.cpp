#include "bench/import_text.hpp"

#include <fmt/format.h>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <sstream>

#include "impl/models/json_text.hpp"
#include "kernels/error.hpp"

namespace shardmark {

using nlohmann::json;

namespace {

constexpr const char* kind = "a strategy config";
constexpr std::size_t most_bytes = 1 << 18, most_values = 10'000;

// Blanks in place of comments and of commas before a closing bracket: what is left is plain JSON,
// and every byte of it stands where it stood.
class Plain {
 public:
  Plain(const std::string& text, const std::string& file) : text_(text), file_(file), out_(text) {}

  std::string text() {
    while (at_ < text_.size()) step();
    return out_;
  }

 private:
  bool here(const char* word) const { return text_.compare(at_, std::strlen(word), word) == 0; }

  void step() {
    if (text_[at_] == '"') return skip_string();
    if (text_[at_] == '#' || here("//"))
      return blank_until(std::min(text_.find('\n', at_), text_.size()));
    if (here("/*")) return blank_block();
    const char c = text_[at_];
    if (c == ',' && !std::strchr(",:{[", last_)) {
      comma_ = at_;
    } else if (c == '}' || c == ']') {
      if (comma_) out_[*comma_] = ' ';
      comma_.reset();
    } else if (!std::strchr(" \t\r\n", c)) {
      comma_.reset();
    }
    if (!std::strchr(" \t\r\n", c)) last_ = c;
    ++at_;
  }

  void skip_string() {
    comma_.reset();
    last_ = '"';
    for (++at_; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; ++at_)
      if (text_[at_] == '\\') ++at_;
    at_ = std::min(at_ + 1, text_.size());
  }

  void blank_block() {
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == std::string::npos)
      throw InputError(fmt::format("{}: the comment that begins in {} does not end", file_,
                                   place_in(text_, at_)));
    blank_until(end + 2);
  }

  void blank_until(std::size_t end) {
    for (; at_ < end; ++at_)
      if (out_[at_] != '\n') out_[at_] = ' ';
  }

  const std::string &text_, &file_;
  std::string out_;
  std::size_t at_ = 0;
  char last_ = ',';                   // that is neither a blank nor of a comment
  std::optional<std::size_t> comma_;  // the last one, where nothing stands behind it yet
};

std::string place_of(const YAML::Mark& m) {
  // An exception without a place has -1.
  return fmt::format("line {}, column {}", std::max(m.line, 0) + 1, std::max(m.column, 0) + 1);
}

// A word that is not quoted, as YAML 1.1 reads it, with numbers as JSON has them beside.
json value_of(const std::string& word) {
  for (const char* nothing : {"", "~", "null", "Null", "NULL"})
    if (word == nothing) return nullptr;
  for (const char* yes : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
    if (word == yes) return true;
  for (const char* no : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})
    if (word == no) return false;
  const char* const end = word.data() + word.size();
  std::int64_t whole = 0;
  if (const auto r = std::from_chars(word.data(), end, whole); r.ec == std::errc() && r.ptr == end)
    return whole;
  double real = 0;
  const auto r = std::from_chars(word.data(), end, real);
  if (r.ec == std::errc() && r.ptr == end && std::isfinite(real)) return real;
  return word;
}

[[noreturn]] void refuse_many(const std::string& file) {
  throw InputError(
      fmt::format("{} has more than {} values, but {} is short", file, most_values, kind));
}

class Tree {
 public:
  explicit Tree(const std::string& file) : file_(file) {}

  json of(const YAML::Node& node, int level = 0) {
    if (level > most_levels)
      throw InputError(fmt::format("{} is nested deeper than {} levels, but {} is flat", file_,
                                   most_levels, kind));
    // What stands once and is named many times could become more than any memory holds.
    if (++values_ > most_values) refuse_many(file_);
    if (node.IsMap()) return map(node, level);
    if (node.IsSequence()) {
      json list = json::array();
      for (const YAML::Node& entry : node) list.push_back(of(entry, level + 1));
      return list;
    }
    if (!node.IsScalar()) return nullptr;
    return node.Tag() == "!" ? json(node.Scalar()) : value_of(node.Scalar());
  }

 private:
  json map(const YAML::Node& node, int level) {
    json object = json::object();
    for (const auto& entry : node) {
      const YAML::Node key = entry.first;
      if (!key.IsScalar())
        throw InputError(fmt::format("{}: the key in {} is no word", file_, place_of(key.Mark())));
      if (object.contains(key.Scalar()))
        throw InputError(fmt::format("{}: \"{}\" is there twice, but may stand once: again in {}",
                                     file_, key.Scalar(), place_of(key.Mark())));
      object[key.Scalar()] = of(entry.second, level + 1);
    }
    return object;
  }

  const std::string& file_;
  std::size_t values_ = 0;
};

// Takes a document and keeps where it begins.
struct Beginning : YAML::EventHandler {
  YAML::Mark at;
  void OnDocumentStart(const YAML::Mark& mark) override { at = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// Load() passes over what stands behind the first document, and LoadAll() of yaml-cpp 0.7 need not
// end on it.
void refuse_second(const std::string& text, const std::string& file) {
  std::istringstream in(text);
  YAML::Parser parser(in);
  Beginning first, second;
  if (parser.HandleNextDocument(first) && parser.HandleNextDocument(second))
    throw InputError(
        fmt::format("{} goes on behind its end, but {} is one document: the next begins in {}",
                    file, kind, place_of(second.at)));
}

json yaml_object(const std::string& text, const std::string& file) {
  json all;
  try {
    refuse_second(text, file);
    const YAML::Node whole = YAML::Load(text);
    all = Tree(file).of(whole);
  } catch (const YAML::Exception& e) {
    throw InputError(fmt::format("{} is no YAML: {} in {}", file, e.msg, place_of(e.mark)));
  }
  if (!all.is_object())
    throw InputError(
        fmt::format("{} holds no keys with values, but {} is such a list (line 1, "
                    "column 1)",
                    file, kind));
  return all;
}

std::size_t values_in(const json& tree) {
  std::size_t count = 1;
  if (tree.is_structured())
    for (const json& value : tree) count += values_in(value);
  return count;
}

json plain_json_object(const std::string& text, const std::string& file) {
  json all = json_object(Plain(text, file).text(), file, kind);
  if (values_in(all) > most_values) refuse_many(file);
  return all;
}

bool is_json(const std::string& text, const std::string& file) {
  if (file.ends_with(".json") || file.ends_with(".hjson")) return true;
  if (file.ends_with(".yaml") || file.ends_with(".yml")) return false;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && (text[first] == '{' || text[first] == '/');
}

}  // namespace

json strategy_tree(const std::string& text, const std::string& file) {
  if (text.size() > most_bytes)
    throw InputError(
        fmt::format("{} has {} bytes, but {} has at most {}", file, text.size(), kind, most_bytes));
  if (const std::size_t nul = text.find('\0'); nul != std::string::npos)
    throw InputError(
        fmt::format("{} is no text: it has a zero byte in {}", file, place_in(text, nul)));
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw InputError(
        fmt::format("{} is empty (line 1, column 1), but {} has keys with values", file, kind));
  return is_json(text, file) ? plain_json_object(text, file) : yaml_object(text, file);
}

}  // namespace shardmark
