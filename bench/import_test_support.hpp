#pragma once
// What do the tests of importing share? A line that is looked for by its key.
#include <gtest/gtest.h>

#include "bench/import.hpp"

namespace shardmark::importing {

// "value -> became" of the one line with that key; "" where there is none, "twice" where there are
// more.
inline std::string line(const std::vector<Imported::Line>& lines, const std::string& key) {
  std::string found;
  for (const Imported::Line& l : lines)
    if (l.key == key) found = found.empty() ? l.value + " -> " + l.became : "twice";
  return found;
}

inline bool noted(const Imported& i, const std::string& text) {
  for (const std::string& note : i.notes)
    if (note.find(text) != std::string::npos) return true;
  return false;
}

inline std::string flag(const Imported& i, const std::string& name) {
  const auto it = i.given.find(name);
  return it == i.given.end() ? "" : it->second.front();
}

// The sentence with which a text is refused; empty where it is taken.
inline std::string refusal(const std::string& text, const std::string& file = "ds.json",
                           const ImportFacts& facts = {}) {
  try {
    import_strategy(text, file, facts);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

inline ImportFacts ranks(std::int64_t n) {
  ImportFacts facts;
  facts.ranks = n;
  return facts;
}

}  // namespace shardmark::importing
