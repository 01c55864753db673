#pragma once
// How is an answer shown, on a terminal and as Markdown? One description gives both: titles,
// labelled paragraphs, tables, commands, and statements with a verdict each.
#include <string>
#include <variant>
#include <vector>

#include "bench/blocks.hpp"

namespace shardmark {

// A statement, what becomes of it, and what shows that.
struct Verdicted {
  std::string id, verdict, statement, shown;
};

class Page {
 public:
  // level: 1 of a whole page, 2 of a part.
  void title(std::string text, int level = 2) {
    items_.emplace_back(Title{std::move(text), level});
  }
  // label: "Question"; empty: none.
  void paragraph(std::string label, std::string text) {
    items_.emplace_back(Paragraph{std::move(label), std::move(text)});
  }
  void table(Block block) { items_.emplace_back(std::move(block)); }
  void command(std::string typed) { items_.emplace_back(Command{std::move(typed)}); }
  void statements(std::vector<Verdicted> all) { items_.emplace_back(std::move(all)); }
  void append(Page);

  std::string text(std::size_t columns) const;  // no line is longer
  std::string markdown() const;

 private:
  struct Title {
    std::string text;
    int level;
  };
  struct Paragraph {
    std::string label, text;
  };
  struct Command {
    std::string typed;
  };
  using Item = std::variant<Title, Paragraph, Block, Command, std::vector<Verdicted>>;
  std::vector<Item> items_;
};

// Replaces the file as a whole, or leaves it as it was. Throws InputError where it cannot be
// written. flag: that named it.
void write_whole(const std::string& flag, const std::string& file, const std::string& text);
// Throws InputError where write_whole() would: before anything is measured.
void check_writable(const std::string& flag, const std::string& file);

}  // namespace shardmark
