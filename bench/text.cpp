// How is text that a person wrote read? See text.hpp.
#include "bench/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/error.hpp"

namespace shardmark {

namespace {

struct SizeUnit {
  std::string_view name;
  double bytes;
};
constexpr std::array<SizeUnit, 9> size_units = {{{"B", 1},
                                                 {"kB", 1e3},
                                                 {"MB", 1e6},
                                                 {"GB", 1e9},
                                                 {"TB", 1e12},
                                                 {"KiB", 1024.},
                                                 {"MiB", 1048576.},
                                                 {"GiB", 1073741824.},
                                                 {"TiB", 1099511627776.}}};

// All of text as one number; from_chars takes neither blanks nor a plus sign, and ignores the
// locale.
template <class T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end == text.npos ? text.npos : end - begin));
    if (end == text.npos) return parts;
    begin = end + 1;
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

std::vector<std::string> words(std::string_view line) {
  std::vector<std::string> all;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (const char c : line) {
    if (quote) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      if (inside) all.push_back(std::exchange(word, ""));
      inside = false;
    } else if (c == '#' && !inside) {
      return all;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quote) throw InputError(fmt::format("a quotation mark {} is never closed", quote));
  if (inside) all.push_back(word);
  return all;
}

std::string shell_word(const std::string& text) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) || std::strchr("-_./:=,+%@", c) != nullptr;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::vector<std::string> split_models(std::string_view text) {
  std::vector<std::string> models;
  for (const std::string& piece : split(text, ',')) {
    const bool continues = piece.find('=') != piece.npos && piece.find(':') == piece.npos;
    if (continues && !models.empty()) {
      models.back() += "," + piece;
    } else {
      models.push_back(piece);
    }
  }
  return models;
}

std::optional<std::string> closest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  const std::string wanted = lower(word);
  for (const std::string& candidate : candidates) {
    // A candidate shorter than the distance would be all new letters.
    const std::size_t distance = edit_distance(wanted, lower(candidate));
    if (distance < least && distance < candidate.size()) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const auto near = closest(word, candidates);
  return near ? fmt::format("; did you mean {}?", *near) : std::string(".");
}

std::int64_t whole_number(std::string_view flag, std::string_view text, std::int64_t least,
                          std::int64_t most) {
  const auto value = parsed<std::int64_t>(text);
  if (!value || *value < least || *value > most)
    throw InputError(fmt::format("{} is \"{}\", but must be a whole number from {} to {}.", flag,
                                 text, least, most));
  return *value;
}

double real_number(std::string_view flag, std::string_view text, double least, double most,
                   bool open) {
  const auto value = parsed<double>(text);
  if (!value || !(open ? *value > least : *value >= least) || !(*value <= most))
    throw InputError(fmt::format("{} is \"{}\", but must be a number {} {} and at most {}.", flag,
                                 text, open ? "above" : "of at least", least, most));
  return *value;
}

bool on_or_off(std::string_view flag, std::string_view text) {
  if (text != "on" && text != "off")
    throw InputError(fmt::format("{} is \"{}\", but must be on or off.", flag, text));
  return text == "on";
}

std::uint64_t byte_count(std::string_view flag, std::string_view text, int least) {
  const std::string all = trimmed(text);
  // The exponent of 20e6B is a letter too: the unit is what follows the longest number.
  double value = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  const std::string unit = trimmed(std::string(end, all.data() + all.size()));
  const auto known = std::find_if(size_units.begin(), size_units.end(),
                                  [&](const SizeUnit& u) { return u.name == unit; });
  const std::string example = "such as 8GB (1e9 bytes each) or 8GiB (2^30 bytes each)";
  if (error != std::errc() || !std::isfinite(value) || value < 0 || (value == 0 && least > 0))
    throw InputError(fmt::format("{} is \"{}\", but must be a number {} 0 with a unit, {}.", flag,
                                 text, least > 0 ? "above" : "of at least", example));
  if (known == size_units.end()) {
    std::vector<std::string> names;
    for (const SizeUnit& u : size_units) names.emplace_back(u.name);
    throw InputError(fmt::format("{} is \"{}\", whose unit \"{}\" is none of {}: write it {}.",
                                 flag, text, unit, join(names, ", "), example));
  }
  const double bytes = value * known->bytes;
  if (bytes < least || bytes > 1e18)
    throw InputError(fmt::format("{} is \"{}\", but must be at least {} byte{} and at most 1e18.",
                                 flag, text, least, least == 1 ? "" : "s"));
  return static_cast<std::uint64_t>(std::llround(bytes));
}

std::string bytes_text(std::uint64_t bytes) {
  for (const bool decimal : {true, false})
    for (std::size_t i = size_units.size(); i-- > 0;) {
      const bool is_decimal = size_units[i].name.find('i') == std::string_view::npos;
      const auto unit = static_cast<std::uint64_t>(size_units[i].bytes);
      if (is_decimal == decimal && unit > 1 && bytes >= unit && bytes % unit == 0)
        return fmt::format("{}{}", bytes / unit, size_units[i].name);
    }
  return fmt::format("{}B", bytes);
}

std::uint64_t fnv1a64(std::string_view bytes, std::uint64_t from) {
  for (const char c : bytes) from = (from ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return from;
}

std::string given_twice(std::string_view flag, bool list) {
  return fmt::format("{} is given twice; {}.", flag,
                     list ? "several values are separated by commas" : "give it once");
}

std::string short_hash(std::string_view text) { return hex16(fnv1a64(text)).substr(0, 4); }

std::string hex16(std::uint64_t value) { return fmt::format("{:016x}", value); }

}  // namespace shardmark
