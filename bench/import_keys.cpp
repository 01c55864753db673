#include "bench/import_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {

using nlohmann::json;

namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string short_value(const json* value) {
  if (!value) return "(absent)";
  if (value->is_object()) return "{...}";
  if (value->is_array()) return "[...]";
  if (value->is_number_float())
    if (const double n = value->get<double>(); n == std::floor(n) && std::abs(n) < 1e15)
      return fmt::format("{:.0f}", n);
  std::string text = value->is_string()
                         ? value->get<std::string>()
                         : value->dump(-1, ' ', false, json::error_handler_t::replace);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  // Cut between characters, not inside one.
  if (text.size() > 40) {
    std::size_t end = 37;
    while (end > 0 && (text[end] & 0xc0) == 0x80) --end;
    text = text.substr(0, end) + "...";
  }
  const std::string quoted = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

bool is_false(const json& value) { return value.is_boolean() && !value.get<bool>(); }

// As a number, also where it is quoted; nothing where it is none.
std::optional<double> number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return {};
  const std::string text = value.get<std::string>();
  double number = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || r.ec != std::errc() || r.ptr != text.data() + text.size()) return {};
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

ImportKeys::ImportKeys(json all, std::string file, Imported& to, const Names* names,
                       std::string path)
    : all_(std::move(all)),
      file_(std::move(file)),
      path_(std::move(path)),
      names_(names),
      to_(&to) {}

const json* ImportKeys::find(const std::string& key) const {
  const auto it = all_.find(key);
  return it == all_.end() || it->is_null() ? nullptr : &*it;
}

bool ImportKeys::is_auto(const std::string& key) const {
  const json* value = find(key);
  return value && value->is_string() && lower(value->get<std::string>()) == "auto";
}

std::string ImportKeys::shown(const std::string& key) const {
  const std::string full = path_ + key;
  if (!names_) return full;
  const auto it = names_->find(full);
  return it == names_->end() ? full : it->second;
}

std::string ImportKeys::value_text(const std::string& key) const { return short_value(find(key)); }

void ImportKeys::refuse(const std::string& key, const std::string& may) const {
  const json* value = find(key);
  const std::string was = !value               ? "missing"
                          : value->is_object() ? "an object"
                          : value->is_array()  ? "a list"
                          : value->is_string() ? '"' + short_value(value) + '"'
                                               : short_value(value);
  throw InputError(fmt::format("{}: \"{}\" is {}, but {}", file_, shown(key), was, may));
}

ImportKeys ImportKeys::below(const std::string& key) {
  below_.insert(key);
  const json* value = find(key);
  if (value && !value->is_object()) refuse(key, "must be an object");
  return {value ? *value : json::object(), file_, *to_, names_, path_ + key + "."};
}

std::optional<bool> ImportKeys::flag(const std::string& key) const {
  const json* value = find(key);
  if (!value) return {};
  if (value->is_boolean()) return value->get<bool>();
  if (value->is_string()) {
    const std::string word = lower(value->get<std::string>());
    if (word == "true" || word == "yes" || word == "1") return true;
    if (word == "false" || word == "no" || word == "0") return false;
  }
  refuse(key, "must be true or false");
}

std::optional<std::int64_t> ImportKeys::whole(const std::string& key, std::int64_t least,
                                              std::int64_t most) const {
  const json* value = find(key);
  if (!value) return {};
  const std::optional<double> number = number_of(*value);
  if (number && *number != std::floor(*number))
    refuse(key, "must be a whole number, which a fraction is not");
  if (!number || *number < static_cast<double>(least) || *number > static_cast<double>(most))
    refuse(key, fmt::format("must be a whole number from {} to {}", least, most));
  return static_cast<std::int64_t>(*number);
}

std::optional<double> ImportKeys::real(const std::string& key, double least, double most) const {
  const json* value = find(key);
  if (!value) return {};
  const std::optional<double> number = number_of(*value);
  if (!number || *number < least || *number > most)
    refuse(key, fmt::format("must be a number from {} to {}", least, most));
  return number;
}

std::optional<std::string> ImportKeys::word(const std::string& key,
                                            const std::vector<std::string>& known) const {
  const json* value = find(key);
  if (!value) return {};
  const std::string word = value->is_string()   ? lower(value->get<std::string>())
                           : value->is_number() ? value->dump()
                           : is_false(*value)   ? "no"  // YAML's word for it
                                                : "";
  if (std::find(known.begin(), known.end(), word) == known.end())
    refuse(key, "may be " + join(known, ", "));
  return word;
}

void ImportKeys::line(std::vector<Imported::Line>& lines, const std::string& key,
                      const std::string& became) {
  lines.push_back({shown(key), value_text(key), became});
  spoken_.insert(key);
}

void ImportKeys::map(const std::string& key, const std::string& flag, const std::string& value,
                     const std::string& why) {
  to_->given[flag] = {value};
  if (has(key) && !is_auto(key))
    to_->said[flag] = shown(key);
  else
    to_->said.erase(flag);
  say_mapped(key, flag + " " + value + (why.empty() ? "" : ": " + why));
}

void ImportKeys::say_mapped(const std::string& key, const std::string& became) {
  line(to_->mapped, key, became);
}

void ImportKeys::leave_open(const std::string& key, const std::string& who) {
  line(to_->left_open, key, who);
}

void ImportKeys::ignore(const std::string& key, const std::string& why) {
  if (has(key) && !spoken_.contains(key)) line(to_->ignored, key, why);
}

void ImportKeys::lack(const std::string& key, const std::string& why) {
  line(to_->unsupported, key, why);
}

std::vector<std::string> ImportKeys::unspoken() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : all_.items())
    if (!value.is_null() && !spoken_.contains(key) && !below_.contains(key)) keys.push_back(key);
  return keys;
}

void ImportKeys::ignore_rest(const std::vector<std::string>& known, const char* why) {
  for (const std::string& key : unspoken()) {
    const auto near = closest(key, known);
    if (std::find(known.begin(), known.end(), key) != known.end())
      ignore(key, why);
    else
      lack(key, near ? fmt::format("not known here; did you mean {}?", *near) : "not known here");
  }
}

}  // namespace shardmark
