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

// Looks on while a file is read: for keys that stand twice, of which a reader would keep one, and
// for what is nested deeper than any config.
class Watch {
 public:
  Watch(const std::string& text, const std::string& file, const char* kind,
        const char* const& came_to)
      : text_(text), file_(file), kind_(kind), came_to_(came_to) {}
  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    if (depth > most_levels)
      throw InputError(fmt::format("{} is nested deeper than {} levels, but {} is flat", file_,
                                   most_levels, kind_));
    keys_.resize(static_cast<std::size_t>(depth) + 1);  // those of objects that ended are gone
    if (event == json::parse_event_t::key && !keys_.back().insert(parsed.get<std::string>()).second)
      twice(parsed.get<std::string>());
    return true;
  }

 private:
  [[noreturn]] void twice(const std::string& key) const {
    const auto end = static_cast<std::size_t>(came_to_ - text_.data());  // behind the last quote
    throw InputError(fmt::format("{}: \"{}\" is there twice, but may stand once: again in {}",
                                 file_, key, place_in(text_, text_.rfind('"', end - 2))));
  }

  const std::string &text_, &file_;
  const char* kind_;
  const char* const& came_to_;
  std::vector<std::set<std::string>> keys_;  // by depth
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
    all = json::parse(Cursor{text.data(), &came_to}, Cursor{text.data() + text.size(), &came_to},
                      Watch(text, file, kind, came_to));
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
