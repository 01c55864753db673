// What does schema.json say, in a form that people read? Prints schema.md; with --compare FILE,
// says whether that file is it.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using nlohmann::ordered_json;

std::string text_of(const char* file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string definition_of(const ordered_json& value) {
  const std::string ref = value.value("$ref", "");
  return ref.substr(ref.rfind('/') + 1);
}

// "integer or null", "array of ns", "one of ok, failed, skipped".
std::string type_of(const ordered_json& value, const ordered_json& definitions) {
  if (value.contains("$ref")) {
    const std::string name = definition_of(value);
    const ordered_json& to = definitions.at(name);
    return to.value("type", "") == "object" ? fmt::format("[{}](#{})", name, name)
                                            : type_of(to, definitions);
  }
  const auto joined = [](const std::vector<std::string>& parts) {
    return fmt::format("{}", fmt::join(parts, " or "));
  };
  if (value.contains("enum")) {
    std::vector<std::string> parts;
    for (const auto& v : value["enum"])
      parts.push_back(v.is_string() ? v.get<std::string>() : v.dump());
    return joined(parts);
  }
  std::vector<std::string> parts;
  if (value.contains("anyOf"))
    for (const auto& v : value["anyOf"]) parts.push_back(type_of(v, definitions));
  if (value.contains("type")) {
    const auto& type = value["type"];
    for (const auto& t : type.is_array() ? type : ordered_json::array({type})) parts.push_back(t);
  }
  if (!parts.empty() && parts[0] == "array" && value.contains("items"))
    parts[0] += " of " + type_of(value["items"], definitions);
  return joined(parts);
}

std::string table_of(const ordered_json& object, const ordered_json& definitions) {
  std::string out = "| key | type | meaning |\n|---|---|---|\n";
  for (const auto& [key, value] : object.at("properties").items()) {
    // Said once at the head, for every key that can be null.
    if (value.contains("$ref") && definition_of(value) == "reason") continue;
    out += fmt::format("| `{}` | {} | {} |\n", key, type_of(value, definitions),
                       value.value("description", ""));
  }
  return out;
}

std::string document(const ordered_json& schema) {
  const ordered_json& definitions = schema.at("definitions");
  std::string out = fmt::format("# {}\n\nGenerated from schema.json by schema_md.cpp.\n\n{}\n\n{}",
                                schema.value("title", ""), schema.value("description", ""),
                                table_of(schema, definitions));
  for (const auto& [name, definition] : definitions.items())
    if (definition.value("type", "") == "object")
      out += fmt::format("\n## {}\n\n{}\n\n{}", name, definition.value("description", ""),
                         table_of(definition, definitions));
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const bool compares = argc == 4 && std::string(argv[2]) == "--compare";
  if (argc != 2 && !compares) {
    fmt::print(stderr, "schema_md: usage: schema_md schema.json [--compare schema.md]\n");
    return 2;
  }
  const std::string fresh = document(ordered_json::parse(text_of(argv[1])));
  if (!compares) {
    fmt::print("{}", fresh);
    return 0;
  }
  if (text_of(argv[3]) == fresh) return 0;
  fmt::print(stderr, "schema_md: {} is not what {} gives; build the target schema_md_update.\n",
             argv[3], argv[1]);
  return 1;
}
