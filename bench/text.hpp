#pragma once
// How is text that a person wrote read: lists, numbers, sizes, names with a typo? Every function
// that finds something wrong throws InputError with a sentence that names the flag, what it was,
// and what it may be.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardmark {

std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string trimmed(std::string_view text);

// The words of a line; '...' and "..." keep blanks, # at the start of a word ends the line.
std::vector<std::string> words(std::string_view line);
// As a shell takes it for one word.
std::string shell_word(const std::string& text);

// A list of models: a piece with = and without : belongs to the free form before it, so that
// "gpt-nano,gpt:layers=4,width=256" are two.
std::vector<std::string> split_models(std::string_view text);

// The candidate with the smallest edit distance, where that is small enough to be a typo.
std::optional<std::string> closest(std::string_view word,
                                   const std::vector<std::string>& candidates);
// "; did you mean zero1?" or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

std::int64_t whole_number(std::string_view flag, std::string_view text, std::int64_t least,
                          std::int64_t most);
// At least `least` (more than it where `open`), at most `most`; never nan.
double real_number(std::string_view flag, std::string_view text, double least, double most,
                   bool open = false);
bool on_or_off(std::string_view flag, std::string_view text);
// "8GB", "1.5 GiB", "20e6B": decimal and binary units are different things and both are known.
// least: 1, or 0 where nothing is a size too.
std::uint64_t byte_count(std::string_view flag, std::string_view text, int least = 1);
// "8GB" where that is exact, else "8GiB", else in bytes.
std::string bytes_text(std::uint64_t bytes);

// A flag that stands twice; list: it takes several values.
std::string given_twice(std::string_view flag, bool list);

inline constexpr std::uint64_t fnv1a_start = 0xcbf29ce484222325u;
std::uint64_t fnv1a64(std::string_view bytes, std::uint64_t from = fnv1a_start);
std::string hex16(std::uint64_t);
std::string short_hash(std::string_view text);  // 4 digits: tells names apart

// The whole file. Throws InputError: missing, a folder, not readable. what: the flag or key that
// named it.
std::string read_whole_file(std::string_view what, const std::filesystem::path& file);

// The same of a config, which is short: refuses what is no regular file (a pipe or a device need
// not end) and what has more than 16 MB.
std::string read_config(std::string_view what, const std::filesystem::path& file);

// Whole or not at all, by way of a file beside it. Throws InputError where it cannot be written.
void write_whole_file(std::string_view flag, const std::filesystem::path& file,
                      std::string_view text);

}  // namespace shardmark
