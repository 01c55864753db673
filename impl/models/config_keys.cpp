#include "impl/models/config_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "impl/models/figures.hpp"

namespace shardmark {

using nlohmann::json;

namespace {

constexpr int most_levels = 100;  // values are printed and copied level by level

// Where in a text byte number `byte` is, counted from 0: columns are characters of UTF-8.
std::string place(const std::string& text, std::size_t byte) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
  const auto line = std::find(std::reverse_iterator(end), text.rend(), '\n').base();
  const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  return fmt::format("line {}, column {}", 1 + std::count(text.begin(), end, '\n'),
                     1 + std::count_if(line, end, starts));
}

// Goes through a text and leaves behind how far it came, which the parser tells only of errors.
struct Cursor {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  reference operator*() const { return *at; }
  Cursor& operator++() {
    *came_to = ++at;
    return *this;
  }
  bool operator==(const Cursor& other) const { return at == other.at; }

  const char* at;
  const char** came_to;
};

// Looks on while a file is read: for keys that stand twice, of which a reader would keep one, and
// for what is nested deeper than any config.
class Watch {
 public:
  Watch(const std::string& text, const std::string& file, const char* const& came_to)
      : text_(text), file_(file), came_to_(came_to) {}
  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    if (depth > most_levels)
      throw InputError(fmt::format("{} is nested deeper than {} levels, but a config.json is flat",
                                   file_, most_levels));
    keys_.resize(static_cast<std::size_t>(depth) + 1);  // those of objects that ended are gone
    if (event == json::parse_event_t::key && !keys_.back().insert(parsed.get<std::string>()).second)
      twice(parsed.get<std::string>());
    return true;
  }

 private:
  [[noreturn]] void twice(const std::string& key) const {
    const auto end = static_cast<std::size_t>(came_to_ - text_.data());  // behind the last quote
    throw InputError(fmt::format("{}: \"{}\" is there twice, but may stand once: again in {}",
                                 file_, key, place(text_, text_.rfind('"', end - 2))));
  }

  const std::string &text_, &file_;
  const char* const& came_to_;
  std::vector<std::set<std::string>> keys_;  // by depth
};

json object_of(const std::string& text, const std::string& file) {
  json all;
  try {
    const char* came_to = text.data();
    all = json::parse(Cursor{text.data(), &came_to}, Cursor{text.data() + text.size(), &came_to},
                      Watch(text, file, came_to));
  } catch (const json::parse_error& e) {
    throw InputError(fmt::format("{} is no JSON: it cannot be read from {} on", file,
                                 place(text, e.byte > 0 ? e.byte - 1 : 0)));
  } catch (const json::exception& e) {
    throw InputError(fmt::format("{} cannot be read: {}", file, e.what()));
  }
  if (!all.is_object())
    throw InputError(fmt::format("{} holds no JSON object, but a config.json is one", file));
  return all;
}

}  // namespace

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& w : words) all += (all.empty() ? "" : ", ") + w;
  return all;
}

ConfigKeys::ConfigKeys(const std::string& text, std::string file, std::vector<std::string>* notes)
    : all_(object_of(text, file)), file_(std::move(file)), notes_(notes) {}

bool ConfigKeys::holds(const std::string& key, const char* word) const {
  const json* value = find(key);
  return value && value->is_string() && value->get<std::string>() == word;
}

void ConfigKeys::note(const std::string& sentence) const {
  if (notes_) notes_->push_back(sentence);
}

std::string ConfigKeys::either(const std::string& key, const std::string& alias) const {
  if (!has(alias)) return key;
  if (has(key) && *find(key) != *find(alias))
    refuse(key, fmt::format("\"{}\", another name for it, says something else", alias));
  return has(key) ? key : alias;
}

const json* ConfigKeys::find(const std::string& key) const {
  const auto it = all_.find(key);
  return it == all_.end() || it->is_null() ? nullptr : &*it;
}

void ConfigKeys::refuse(const std::string& key, const std::string& may) const {
  const auto it = all_.find(key);
  std::string was = "missing";
  if (it != all_.end())
    was = it->is_object()  ? "an object"
          : it->is_array() ? "a list"
                           : it->dump(-1, ' ', false, json::error_handler_t::replace);
  if (was.size() > 60) was = was.substr(0, 57) + "...";
  throw InputError(fmt::format("{}: \"{}{}\" is {}, but {}", file_, path_, key, was, may));
}

void ConfigKeys::refuse_all(const std::string& what) const {
  throw InputError(fmt::format("{}: {}", file_, what));
}

ConfigKeys ConfigKeys::below(const std::string& key) const {
  const json* value = find(key);
  if (!value || !value->is_object()) refuse(key, "must be an object");
  return {*value, *this, path_ + key + "."};
}

std::size_t ConfigKeys::whole(const std::string& key, const char* figure) const {
  const json* value = find(key);
  const std::size_t most = most_whole(figure);
  if (!value || !value->is_number_unsigned() || *value < 1 || *value > most)
    refuse(key, fmt::format("must be a whole number from 1 to {}", most));
  return value->get<std::size_t>();
}

std::size_t ConfigKeys::whole(const std::string& key, const char* figure, std::size_t otherwise,
                              const char* because) const {
  if (has(key)) return whole(key, figure);
  if (*because) note(fmt::format("\"{}{}\" is absent: {}, {}", path_, key, otherwise, because));
  return otherwise;
}

std::size_t ConfigKeys::whole_or_none(const std::string& key, const char* figure,
                                      std::size_t otherwise, const char* because) const {
  const json* value = find(key);
  const bool none = value && value->is_number_unsigned() && value->get<std::size_t>() == 0;
  return none ? 0 : whole(key, figure, otherwise, because);
}

bool ConfigKeys::flag(const std::string& key, bool otherwise, const char* because) const {
  const json* value = find(key);
  if (value && !value->is_boolean()) refuse(key, "must be true or false");
  if (value) return value->get<bool>();
  if (*because) note(fmt::format("\"{}{}\" is absent: {}, {}", path_, key, otherwise, because));
  return otherwise;
}

double ConfigKeys::real(const std::string& key, const char* figure, double least) const {
  const json* value = find(key);
  const double number = value && value->is_number() ? value->get<double>() : 0;
  if (!(number > 0) || number < least)
    refuse(key, least > 0 ? fmt::format("must be a number of {} or more", least)
                          : "must be a number above 0");
  const RealLimits limits = real_limits(figure);
  if (number < limits.least || number > limits.most)
    refuse(key, fmt::format("must be from {} to {}", limits.least, limits.most));
  return number;
}

double ConfigKeys::real_or(const std::string& key, const char* figure, double otherwise) const {
  return has(key) ? real(key, figure) : otherwise;
}

std::string ConfigKeys::word(const std::string& key, const std::vector<std::string>& known,
                             const std::string& otherwise) const {
  const json* value = find(key);
  if (!value && !otherwise.empty()) return otherwise;
  if (value && value->is_string())
    for (const std::string& w : known)
      if (*value == w) return w;
  refuse(key, "may be " + joined(known));
}

std::vector<std::string> ConfigKeys::words(const std::string& key) const {
  std::vector<std::string> all;
  const json* value = find(key);
  if (!value) return all;
  if (!value->is_array()) refuse(key, "must be a list of names");
  for (const json& entry : *value) {
    if (!entry.is_string()) refuse(key, "must be a list of names");
    all.push_back(entry.get<std::string>());
  }
  return all;
}

}  // namespace shardmark
