#include "bench/exercises/page.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "bench/units.hpp"
#include "kernels/error.hpp"

namespace shardmark {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t label_columns = 10;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

// Text behind a label, which stands on its first line alone.
std::string labelled(const std::string& label, const std::string& text, std::size_t columns) {
  return wrapped(pad_right(label, label_columns) + text, columns, std::string(label_columns, ' ')) +
         "\n";
}

// What Markdown would take for the border of a cell, or for emphasis.
std::string in_cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += (c == '|' || c == '*' ? "\\" : "") + std::string(1, c);
  return out;
}

std::string markdown_row(const Cells& cells) {
  std::string out = "|";
  for (const std::string& cell : cells) out += fmt::format(" {} |", in_cell(cell));
  return out + "\n";
}

std::string markdown_table(const Block& block) {
  std::string out = markdown_row(block.header) + "|";
  for (std::size_t i = 0; i < block.header.size(); ++i) out += i < block.labels ? "---|" : "--:|";
  out += "\n";
  for (const Cells& row : block.rows) out += markdown_row(row);
  return out;
}

std::string statement_text(const Verdicted& v, std::size_t columns) {
  return labelled(v.id, v.statement, columns) + labelled("", v.verdict + ".", columns) +
         (v.shown.empty() ? "" : labelled("", v.shown, columns));
}

std::string statements_markdown(const std::vector<Verdicted>& all) {
  std::string out = "| id | statement | verdict | shown by |\n|---|---|---|---|\n";
  for (const Verdicted& v : all)
    out += fmt::format("| {} | {} | **{}** | {} |\n", v.id, in_cell(v.statement),
                       in_cell(v.verdict), in_cell(v.shown));
  return out;
}

// Beside the file, and of this process alone: renaming stays inside one file system.
fs::path beside(const fs::path& file) { return fmt::format("{}.{}", file.string(), ::getpid()); }

[[noreturn]] void refuse(const std::string& flag, const std::string& file, const std::string& why) {
  throw InputError(fmt::format("{} {} cannot be written: {}.", flag, file, why));
}

}  // namespace

void Page::append(Page other) {
  std::move(other.items_.begin(), other.items_.end(), std::back_inserter(items_));
}

std::string Page::text(std::size_t columns) const {
  std::string out;
  for (const Item& item : items_) {
    if (!out.empty()) out += '\n';
    out += std::visit(Overloaded{[&](const Title& t) { return wrapped(t.text, columns) + "\n"; },
                                 [&](const Paragraph& p) {
                                   return p.label.empty() ? wrapped(p.text, columns) + "\n"
                                                          : labelled(p.label, p.text, columns);
                                 },
                                 [&](const Block& b) { return b.text(columns); },
                                 [](const Command& c) { return "    " + c.typed + "\n"; },
                                 [&](const std::vector<Verdicted>& all) {
                                   std::string statements;
                                   for (const Verdicted& v : all)
                                     statements += (statements.empty() ? "" : "\n") +
                                                   statement_text(v, columns);
                                   return statements;
                                 }},
                      item);
  }
  return out;
}

std::string Page::markdown() const {
  std::string out;
  for (const Item& item : items_) {
    if (!out.empty()) out += '\n';
    out += std::visit(
        Overloaded{[](const Title& t) {
                     return fmt::format(
                         "{} {}\n", std::string(static_cast<std::size_t>(t.level), '#'), t.text);
                   },
                   [](const Paragraph& p) {
                     return (p.label.empty() ? "" : "**" + p.label + ":** ") + p.text + "\n";
                   },
                   [](const Block& b) { return markdown_table(b); },
                   [](const Command& c) { return "    " + c.typed + "\n"; },
                   [](const std::vector<Verdicted>& all) { return statements_markdown(all); }},
        item);
  }
  return out;
}

void check_writable(const std::string& flag, const std::string& file) {
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) refuse(flag, file, "it is a folder");
  const fs::path parent = fs::path(file).parent_path();
  const std::string asked = fs::exists(file, ignored) ? file
                            : parent.empty()          ? "."
                                                      : parent.string();
  if (::access(asked.c_str(), W_OK) != 0) refuse(flag, file, std::strerror(errno));
}

void write_whole(const std::string& flag, const std::string& file, const std::string& text) {
  check_writable(flag, file);
  std::error_code error;
  // A device or a pipe is written to and never replaced; of a link, what it points to is replaced.
  const bool there = fs::exists(file, error), plain = !there || fs::is_regular_file(file, error);
  const fs::path target = there ? fs::canonical(file, error) : fs::path(file);
  const fs::path fresh = plain ? beside(target) : target;
  std::ofstream out(fresh, std::ios::binary);
  out << text;
  out.close();
  std::string why = out ? "" : std::strerror(errno);
  if (plain && why.empty()) fs::rename(fresh, target, error);
  if (plain && error) why = error.message();
  if (why.empty()) return;
  if (plain) fs::remove(fresh, error);
  refuse(flag, file, why);
}

}  // namespace shardmark
