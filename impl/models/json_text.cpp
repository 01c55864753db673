#include "impl/models/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "kernels/error.hpp"

namespace shardmark {

using nlohmann::json;

namespace {

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

// Goes over a file before it is read: for keys that stand twice, of which a reader would keep one,
// and for what is nested deeper than any config. (A callback of json::parse() could see the same,
// but takes time by the square of the objects in an object.) What is no JSON, the reader says.
class Watch final : public nlohmann::json_sax<json> {
 public:
  Watch(const std::string& text, const std::string& file, const char* kind,
        const char* const& came_to)
      : text_(text), file_(file), kind_(kind), came_to_(came_to) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    if (!keys_.back().insert(key).second) twice(key);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool value() const {
    if (keys_.size() > static_cast<std::size_t>(most_levels))
      throw InputError(fmt::format("{} is nested deeper than {} levels, but {} is flat", file_,
                                   most_levels, kind_));
    return true;
  }
  bool open() {
    value();
    keys_.emplace_back();
    return true;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }
  [[noreturn]] void twice(const std::string& key) const {
    const auto end = static_cast<std::size_t>(came_to_ - text_.data());  // behind the last quote
    throw InputError(fmt::format("{}: \"{}\" is there twice, but may stand once: again in {}",
                                 file_, key, place_in(text_, text_.rfind('"', end - 2))));
  }

  const std::string &text_, &file_;
  const char* kind_;
  const char* const& came_to_;
  std::vector<std::set<std::string>> keys_;  // of what is open, from outside in
};

}  // namespace

std::string place_in(const std::string& text, std::size_t byte) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
  const auto line = std::find(std::reverse_iterator(end), text.rend(), '\n').base();
  const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  return fmt::format("line {}, column {}", 1 + std::count(text.begin(), end, '\n'),
                     1 + std::count_if(line, end, starts));
}

json json_object(const std::string& text, const std::string& file, const char* kind) {
  json all;
  try {
    const char* came_to = text.data();
    Watch watch(text, file, kind, came_to);
    json::sax_parse(Cursor{text.data(), &came_to}, Cursor{text.data() + text.size(), &came_to},
                    &watch);
    all = json::parse(text);
  } catch (const json::parse_error& e) {
    throw InputError(fmt::format("{} is no JSON: it cannot be read from {} on", file,
                                 place_in(text, e.byte > 0 ? e.byte - 1 : 0)));
  } catch (const json::exception& e) {
    throw InputError(fmt::format("{} cannot be read: {}", file, e.what()));
  }
  if (!all.is_object())
    throw InputError(fmt::format("{} holds no JSON object, but {} is one", file, kind));
  return all;
}

}  // namespace shardmark
