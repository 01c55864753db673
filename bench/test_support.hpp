#pragma once
// What do the tests of this folder share? A folder that goes away, the built command run for real,
// and the schema.
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/error.hpp"

namespace shardmark::testing {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "shardmark-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string read(const std::filesystem::path& file);
void write(const std::filesystem::path& file, const std::string& text);
std::vector<nlohmann::json> lines_of(const std::filesystem::path& file);

// The sentence with which f refuses its input; empty where it takes it.
template <class F>
std::string refused(F&& f) {
  try {
    f();
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

struct Ran {
  int code;
  std::string out, err;
};

// arguments: as typed behind the name of the command, and more shell where that is needed. before:
// shell text in front of it, such as a limit.
Ran run(const std::string& binary, const Folder& in, const std::string& arguments,
        const std::string& before = "");
Ran shardmark(const Folder& in, const std::string& arguments, const std::string& before = "");

// Empty where the record is as results/schema.json says, and every null has a reason beside it.
std::string schema_errors(const nlohmann::json& record);

}  // namespace shardmark::testing
