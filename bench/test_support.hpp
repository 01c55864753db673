#pragma once
// What do the tests of this folder share? A folder that goes away, the built command run for real,
// and the schema.
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#include <vector>

#include "bench/embedded.hpp"

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

inline std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

inline std::vector<nlohmann::json> lines_of(const std::filesystem::path& file) {
  std::vector<nlohmann::json> records;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) records.push_back(nlohmann::json::parse(line));
  return records;
}

struct Ran {
  int code;
  std::string out, err;
};

// arguments: as typed behind the name of the command, and more shell where that is needed. before:
// shell text in front of it, such as a limit.
inline Ran shardmark(const Folder& in, const std::string& arguments,
                     const std::string& before = "") {
  const std::string line = fmt::format("cd '{}' && ( {} {} {} ) >.out 2>.err </dev/null",
                                       in.path().string(), before, SHARDMARK_BINARY, arguments);
  const int status = std::system(line.c_str());
  Ran ran{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(in / ".out"), read(in / ".err")};
  std::filesystem::remove(in / ".out");
  std::filesystem::remove(in / ".err");
  return ran;
}

// Every null has a reason beside it: the schema's language cannot say that.
inline void nulls_without_reason(const nlohmann::json& at, const std::string& path,
                                 std::string& errors) {
  if (at.is_object()) {
    for (const auto& [key, value] : at.items()) {
      const auto reason = at.find(key + "_reason");
      if (value.is_null() &&
          (reason == at.end() || !reason->is_string() || reason->get<std::string>().empty()))
        errors += path + "/" + key + " is null without a reason\n";
      nulls_without_reason(value, path + "/" + key, errors);
    }
  } else if (at.is_array()) {
    for (const auto& value : at) nulls_without_reason(value, path + "/*", errors);
  }
}

// Empty where the record is as results/schema.json says.
inline std::string schema_errors(const nlohmann::json& record) {
  const auto document = nlohmann::json::parse(embedded("schema.json"));
  valijson::Schema schema;
  valijson::SchemaParser parser;
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(document), schema);
  valijson::Validator validator;
  valijson::ValidationResults results;
  std::string errors;
  if (!validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(record), &results)) {
    for (valijson::ValidationResults::Error error; results.popError(error);)
      errors += fmt::format("{}: {}\n", fmt::join(error.context, ""), error.description);
    if (errors.empty()) errors = "not as the schema says\n";
  }
  nulls_without_reason(record, "", errors);
  return errors;
}

}  // namespace shardmark::testing
