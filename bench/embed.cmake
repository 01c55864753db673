# Which texts does the binary carry? Writes OUTPUT, a C++ source with the contents of FILES (separated by |), in pieces short
# enough for every compiler. Run by the build: cmake -DFILES="a|b" -DOUTPUT=... -P embed.cmake
string(REPLACE "|" ";" files "${FILES}")
set(entries "")
foreach(path IN LISTS files)
  get_filename_component(name "${path}" NAME)
  file(READ "${path}" hex HEX)
  # Bytes, not a string literal: nothing to escape, no limit of length, the same on every system.
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
  string(MAKE_C_IDENTIFIER "${name}" id)
  string(APPEND arrays "constexpr unsigned char ${id}[] = {\n${bytes}0};\n")
  string(APPEND entries "    {\"${name}\", ${id}, sizeof ${id} - 1},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Written by the build; see bench/embed.cmake.
#include \"bench/embedded.hpp\"

#include \"kernels/error.hpp\"

namespace shardmark {
namespace {
${arrays}
struct Entry {
  std::string_view name;
  const unsigned char* bytes;
  std::size_t size;
};
constexpr Entry entries[] = {
${entries}};
}  // namespace

std::string_view embedded(std::string_view name) {
  for (const Entry& e : entries)
    if (e.name == name) return {reinterpret_cast<const char*>(e.bytes), e.size};
  throw Error(\"the binary carries no text named \" + std::string(name));
}

std::vector<std::string> embedded_names(std::string_view extension) {
  std::vector<std::string> names;
  for (const Entry& e : entries)
    if (e.name.size() > extension.size() && e.name.substr(e.name.size() - extension.size()) == extension)
      names.emplace_back(e.name);
  return names;
}

}  // namespace shardmark
")
