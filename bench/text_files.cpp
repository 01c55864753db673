// How are files that a person named read and written? See text.hpp.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "bench/text.hpp"
#include "kernels/error.hpp"

namespace shardmark {

namespace {

[[noreturn]] void cannot_be_read(std::string_view what, const std::filesystem::path& file) {
  throw InputError(
      fmt::format("{}: {} cannot be read; check its permissions.", what, file.string()));
}

void check_is_file(std::string_view what, const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    throw InputError(fmt::format("{}: there is no file {}.", what, file.string()));
  if (std::filesystem::is_directory(file, ignored))
    throw InputError(fmt::format("{}: {} is a folder, but must be a file.", what, file.string()));
}

}  // namespace

std::string read_whole_file(std::string_view what, const std::filesystem::path& file) {
  check_is_file(what, file);
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
  if (in.bad() || !in.is_open() || text.bad()) cannot_be_read(what, file);
  return text.str();
}

std::string read_config(std::string_view what, const std::filesystem::path& file) {
  constexpr std::size_t most = 16'000'000;
  check_is_file(what, file);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    throw InputError(fmt::format("{}: {} is a pipe or a device, but must be a regular file.", what,
                                 file.string()));
  std::ifstream in(file, std::ios::binary);
  // Some files are longer than they say: no more is read than what may be there.
  std::string text;
  for (std::array<char, 65'536> part; in && text.size() <= most;) {
    in.read(part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad() || !in.is_open()) cannot_be_read(what, file);
  if (text.size() > most)
    throw InputError(
        fmt::format("{}: {} has more than 16 MB, but a config has a few kB.", what, file.string()));
  return text;
}

void write_whole_file(std::string_view flag, const std::filesystem::path& file,
                      std::string_view text) {
  namespace fs = std::filesystem;
  std::error_code error;
  // A device or a pipe is written to, and not replaced by a file.
  const bool beside = !fs::exists(file, error) || fs::is_regular_file(file, error);
  const fs::path fresh = beside ? fs::path(fmt::format("{}.{}", file.string(), ::getpid())) : file;
  errno = 0;
  std::ofstream out(fresh, std::ios::binary);
  out << text;
  out.close();
  std::string why = out ? "" : std::strerror(errno);
  if (out && beside) {
    fs::rename(fresh, file, error);
    if (error) why = error.message();
  }
  if (why.empty()) return;
  if (beside) fs::remove(fresh, error);
  throw InputError(fmt::format("{} {} cannot be written: {}.", flag, file.string(), why));
}

}  // namespace shardmark
