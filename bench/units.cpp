// How is a number written for people? See units.hpp.
#include "bench/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace shardmark {

DecimalUnit unit_for(double largest, std::string_view base) {
  constexpr std::array<std::string_view, 6> prefix = {"", "k", "M", "G", "T", "P"};
  std::size_t power = 0;
  double size = 1;
  // 999.5 already prints as 1000 at three digits.
  while (power + 1 < prefix.size() && std::abs(largest) >= 999.5 * size) {
    size *= 1000;
    ++power;
  }
  return {size, std::string(prefix[power]) + std::string(base)};
}

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  if (value == 0) return "0";
  // Rounded first: 9.996 has one digit before the point at four digits, two at three.
  const double magnitude = std::floor(std::log10(std::abs(value)));
  const double step = std::pow(10.0, magnitude - digits + 1);
  const double rounded = std::round(value / step) * step;
  const int whole = static_cast<int>(std::floor(std::log10(std::abs(rounded)) + 1e-9)) + 1;
  return fmt::format("{:.{}f}", value, std::clamp(digits - whole, 0, 12));
}

std::string with_unit(double value, std::string_view base, int digits) {
  const DecimalUnit unit = unit_for(value, base);
  return fmt::format(
      "{} {}",
      unit.size == 1 && base == "B" ? grouped(value) : significant(value / unit.size, digits),
      unit.name);
}

namespace {

double third_digit(double bytes) {
  return std::max(1.0, std::pow(10.0, std::floor(std::log10(bytes)) - 2));
}

}  // namespace

std::string bytes_up(double bytes) {
  const double step = third_digit(bytes);
  return with_unit(std::ceil(bytes / step) * step, "B");
}

std::string bytes_down(double bytes) {
  const double step = third_digit(bytes);
  return with_unit(std::floor(bytes / step) * step, "B");
}

std::string readable(double value, int decimals) {
  return std::abs(value) < 1e4 ? fmt::format("{:.{}f}", value, decimals)
                               : fmt::format("{:.3g}", value);
}

std::string two_decimals(double value) {
  return std::abs(value) < 9999.995 ? fmt::format("{:.2f}", value) : grouped(value);
}

std::string grouped(double count) {
  std::string text = fmt::format("{:.0f}", std::abs(count));
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return count < 0 && text != "0" ? "-" + text : text;
}

std::string per_second(double count) { return count < 9.995 ? significant(count) : grouped(count); }

std::string percent(double share, int decimals) {
  return fmt::format("{:.{}f} %", share * 100, decimals);
}

std::size_t display_width(std::string_view utf8) {
  // Every character we print is one column wide, so columns are code points: bytes that do not
  // continue one.
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string pad_left(std::string text, std::size_t width) {
  const std::size_t have = display_width(text);
  return have < width ? std::string(width - have, ' ') + text : text;
}

std::string pad_right(std::string text, std::size_t width) {
  const std::size_t have = display_width(text);
  return have < width ? text + std::string(width - have, ' ') : text;
}

std::vector<std::size_t> Grid::widths() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    if (row.size() < 2) continue;
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

std::string Grid::text() const {
  const std::vector<std::size_t> width = widths();
  std::string out;
  for (const auto& row : rows_) {
    std::string line = indent_;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0 && width[i] > 0) line += "  ";
      if (row.size() == 1)
        line += row[i];
      else
        line += i < left_ ? pad_right(row[i], width[i]) : pad_left(row[i], width[i]);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out;
}

std::size_t Grid::width() const {
  std::size_t sum = display_width(indent_), columns = 0;
  for (const std::size_t w : widths()) {
    sum += w;
    columns += w > 0 ? 1 : 0;
  }
  return sum + 2 * (columns > 0 ? columns - 1 : 0);
}

std::string wrapped(std::string_view text, std::size_t columns, std::string_view hang) {
  std::string out, line;
  bool fresh = true;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (!fresh && display_width(line) + 1 + display_width(word) > columns) {
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
      line = hang;
      fresh = true;
    }
    if (!fresh) line += ' ';
    line += word;
    fresh = false;
  }
  return out + line;
}

}  // namespace shardmark
