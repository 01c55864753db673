#pragma once
// How is a number written for people? Decimal units only (GB = 1e9 bytes), a width that counts
// characters, not bytes.
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardmark {

// A power of 1000 and its name; the same for a whole column, so that its numbers compare at a
// glance.
struct DecimalUnit {
  double size = 1;
  std::string name;
};
DecimalUnit unit_for(double largest, std::string_view base);  // "B", "B/s", "FLOP/s"

std::string significant(double value, int digits = 3);  // 1234.5 -> "1234", 12.345 -> "12.3"
std::string with_unit(double value, std::string_view base, int digits = 3);  // "11.1 MB"
// Whole bytes in three digits: what is needed is rounded up, what is left down, so that the number
// can be typed and still holds.
std::string bytes_up(double);
std::string bytes_down(double);
// Fixed decimals, but "1.33e+29" from 1e4 on: a value that has run away breaks no column.
std::string readable(double value, int decimals);
// Two decimals, but "12,345" from 1e4 on, for what cannot run away: never an exponent.
std::string two_decimals(double value);
std::string grouped(double count);  // "694,272"; rounds
std::string grouped(std::integral auto count) { return grouped(static_cast<double>(count)); }
std::string per_second(double count);                 // grouped, but three digits below 10
std::string percent(double share, int decimals = 1);  // 0.123 -> "12.3 %"

std::size_t display_width(std::string_view utf8);
std::string pad_left(std::string text, std::size_t width);   // to the right edge
std::string pad_right(std::string text, std::size_t width);  // to the left edge

// Rows of cells, aligned by display width, two spaces apart. A row of one cell spans the whole
// line.
class Grid {
 public:
  explicit Grid(std::size_t left_columns = 1, std::string indent = "")
      : left_(left_columns), indent_(std::move(indent)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const;
  std::size_t width() const;

 private:
  std::vector<std::size_t> widths() const;
  std::size_t left_;  // the first columns are aligned to the left, the others to the right
  std::string indent_;
  std::vector<std::vector<std::string>> rows_;
};

// Breaks between words; every line but the first starts with `hang`.
std::string wrapped(std::string_view text, std::size_t columns, std::string_view hang = "");

}  // namespace shardmark
