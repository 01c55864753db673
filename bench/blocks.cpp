// How is a block of columns written, and what do all blocks share? See blocks.hpp.
#include "bench/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/units.hpp"

namespace shardmark {

using nlohmann::json;

// Decimals that show about four digits of the largest value of a column, and the same for all
// others in it.
int decimals_for(double largest) {
  const int whole = largest < 1 ? 1 : static_cast<int>(std::floor(std::log10(largest))) + 1;
  return std::clamp(4 - whole, 0, 3);
}

std::string fixed(double value, int decimals) {
  // A negative nothing would be printed as -0.0.
  const std::string text = fmt::format("{:.{}f}", value, decimals);
  return text.find_first_not_of("-0.") == std::string::npos && text[0] == '-' ? text.substr(1)
                                                                              : text;
}

std::string crowded_mark(const Row& row) {
  if (!row.shown) return "";
  return std::string(row.shown->value("oversubscribed", false) ? "*" : "") +
         (row.shown->value("shared_device", false) ? "°" : "");
}

Cells labels(const Row& row, bool with_overlap, const std::string& marks) {
  Cells cells = {row.strategy};
  if (with_overlap) cells.push_back(row.overlap ? "on" : "off");
  cells.back() += marks;
  return cells;
}

Cells header(const std::string& title, bool with_overlap, const Cells& rest) {
  Cells cells = {title};
  if (with_overlap) cells.emplace_back("overlap");
  cells.insert(cells.end(), rest.begin(), rest.end());
  return cells;
}

std::string ratio(double value, double base) {
  return base > 0 ? fmt::format("{:.2f}", value / base) : missing;
}

std::string check_marks(const Row& row, std::initializer_list<const char*> checks, Notes& notes) {
  std::string marks;
  for (const char* check : checks) {
    const auto bad = std::find_if(row.ok.begin(), row.ok.end(), [&](const json* r) {
      const json& value = (*r)["checks"].value(check, json());
      return value.is_boolean() && !value.get<bool>();
    });
    if (bad == row.ok.end()) continue;
    marks += notes.mark(
        fmt::format("{} is false: {}", check,
                    (**bad)["checks"].value(std::string(check) + "_reason", "no reason given")));
  }
  return marks;
}

std::string number_or_why(const json& in, const char* key, Notes& notes, std::string& marks,
                          const std::function<std::string(double)>& written) {
  const json& value = in.value(key, json());
  if (value.is_number()) return written(value.get<double>());
  marks += notes.mark(
      fmt::format("no {}: {}", key, in.value(std::string(key) + "_reason", "no reason given")));
  return missing;
}

std::string witness_of(const json& record) {
  const json& traffic = record.at("traffic");
  const json witness = traffic.value("moved_over_volume_witness", json());
  if (witness.is_string()) return witness;
  return traffic["moved_bytes"].is_array() ? "transport" : "";
}

std::string Notes::number(std::size_t n) {
  constexpr const char* digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text;
  for (const char c : std::to_string(n)) text += digits[c - '0'];
  return text;
}

std::string Notes::mark(const std::string& sentence) {
  auto at = std::find(sentences_.begin(), sentences_.end(), sentence);
  if (at == sentences_.end()) at = sentences_.insert(at, sentence);
  return number(static_cast<std::size_t>(at - sentences_.begin()) + 1);
}

std::string Block::text(std::size_t columns) const {
  if (rows.empty()) return "";
  std::vector<Cells> lines = {header};
  lines.insert(lines.end(), rows.begin(), rows.end());
  const auto part = [&](std::size_t first, std::size_t end) {
    Grid grid(labels);
    for (const Cells& line : lines) {
      Cells cells(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(labels));
      cells.insert(cells.end(), line.begin() + static_cast<std::ptrdiff_t>(first),
                   line.begin() + static_cast<std::ptrdiff_t>(end));
      grid.row(cells);
    }
    return grid;
  };
  std::string out;
  for (std::size_t first = labels, end = first; first < header.size(); first = end) {
    end = first + 1;
    while (end < header.size() && part(first, end + 1).width() <= columns) ++end;
    out += part(first, end).text();
  }
  return out;
}

}  // namespace shardmark
