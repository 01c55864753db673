// What do the tests of this folder share? See test_support.hpp. Apart from it, because the
// validator's headers take long to compile.
#include "bench/test_support.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "bench/embedded.hpp"

namespace shardmark::testing {

namespace {

// Every null has a reason beside it: the schema's language cannot say that.
void nulls_without_reason(const nlohmann::json& at, const std::string& path, std::string& errors) {
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

}  // namespace

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

std::vector<nlohmann::json> lines_of(const std::filesystem::path& file) {
  std::vector<nlohmann::json> records;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) records.push_back(nlohmann::json::parse(line));
  return records;
}

Ran shardmark(const Folder& in, const std::string& arguments, const std::string& before) {
  return run(SHARDMARK_BINARY, in, arguments, before);
}

Ran run(const std::string& binary, const Folder& in, const std::string& arguments,
        const std::string& before) {
  const std::string line = fmt::format("cd '{}' && ( {} {} {} ) >.out 2>.err </dev/null",
                                       in.path().string(), before, binary, arguments);
  const int status = std::system(line.c_str());
  Ran ran{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(in / ".out"), read(in / ".err")};
  std::filesystem::remove(in / ".out");
  std::filesystem::remove(in / ".err");
  return ran;
}

std::string schema_errors(const nlohmann::json& record) {
  auto document = nlohmann::json::parse(embedded("schema.json"));
  // The schema itself is that of a training; what it says of another kind is a definition of it.
  if (record.contains("kind"))
    document = {{"$ref", fmt::format("#/definitions/{}_record", record["kind"].get<std::string>())},
                {"definitions", document["definitions"]}};
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
