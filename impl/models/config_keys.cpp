#include "impl/models/config_keys.hpp"

#include <fmt/format.h>

#include "impl/models/figures.hpp"
#include "impl/models/json_text.hpp"

namespace shardmark {

using nlohmann::json;

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& w : words) all += (all.empty() ? "" : ", ") + w;
  return all;
}

ConfigKeys::ConfigKeys(const std::string& text, std::string file, std::vector<std::string>* notes)
    : all_(json_object(text, file, "a config.json")), file_(std::move(file)), notes_(notes) {}

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

bool ConfigKeys::is_null(const std::string& key) const {
  const auto it = all_.find(key);
  return it != all_.end() && it->is_null();
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
