#include "impl/models/registry.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <map>
#include <variant>

#include "impl/models/gpt.hpp"
#include "impl/models/mlp.hpp"

namespace shardmark {
namespace {

using Shape = std::variant<GptShape, MlpShape>;
using Fields = std::map<std::string, std::size_t>;

std::size_t whole_number(const std::string& model, std::string_view key, std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > 1'000'000'000)
    throw InputError(
        fmt::format("model '{}': {} is '{}', but must be a whole number", model, key, text));
  return value;
}

// "layers=4,width=256" over the keys that a family knows; given holds what a key is where it is not
// named, 0: must be.
Fields parse_fields(const std::string& model, std::string_view text, Fields given) {
  std::string known;
  for (const auto& [key, value] : given) known += (known.empty() ? "" : ", ") + key;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view field = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = field.find('=');
    const std::string key(field.substr(0, equals));
    if (equals == std::string_view::npos || !given.contains(key))
      throw InputError(fmt::format("model '{}': '{}' is not a field of this family, which takes {}",
                                   model, field, known));
    given[key] = whole_number(model, key, field.substr(equals + 1));
  }
  return given;
}

void at_least_one(const std::string& model, const Fields& fields,
                  std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (fields.at(key) < 1)
      throw InputError(fmt::format("model '{}': {} must be 1 or more", model, key));
}

Shape parse(const std::string& model, std::size_t sequence, std::size_t batch) {
  std::string form = model;
  for (const Preset& p : presets())
    if (p.name == model) form = p.form;
  const std::size_t colon = form.find(':');
  const std::string family = form.substr(0, colon),
                    text = colon == std::string::npos ? "" : form.substr(colon + 1);
  if (family == "gpt" && !text.empty()) {
    const Fields f =
        parse_fields(model, text, {{"layers", 0}, {"width", 0}, {"heads", 0}, {"tied", 1}});
    at_least_one(model, f, {"layers", "width", "heads"});
    if (f.at("width") % f.at("heads") != 0)
      throw InputError(fmt::format("model '{}': width {} is not divisible by heads {}", model,
                                   f.at("width"), f.at("heads")));
    if (f.at("tied") > 1)
      throw InputError(
          fmt::format("model '{}': tied is {}, but must be 0 or 1", model, f.at("tied")));
    return GptShape{f.at("layers"), f.at("width"), f.at("heads"),    vocabulary,
                    sequence,       batch,         f.at("tied") == 1};
  }
  if (family == "mlp" && !text.empty()) {
    const Fields f = parse_fields(model, text, {{"layers", 0}, {"width", 0}});
    at_least_one(model, f, {"layers", "width"});
    return MlpShape{f.at("layers"), f.at("width"), vocabulary, sequence, batch};
  }
  std::string names;
  for (const Preset& p : presets()) names += p.name + ", ";
  for (const FreeForm& free : free_forms())
    names += free.pattern + (&free == &free_forms().back() ? "" : ", ");
  throw InputError(fmt::format("unknown model '{}': it may be {}", model, names));
}

}  // namespace

std::span<const Preset> presets() {
  static const std::array<Preset, 3> all{{
      {"mlp-3x1024", "mlp:layers=3,width=1024", "three layers of width 1024 over the last 4 bytes"},
      {"gpt-nano", "gpt:layers=3,width=128,heads=4",
       "3 layers of width 128: a step in milliseconds"},
      {"gpt-micro", "gpt:layers=6,width=384,heads=6",
       "6 layers of width 384: matrix products dominate"},
  }};
  return all;
}

std::span<const FreeForm> free_forms() {
  static const std::array<FreeForm, 2> all{{
      {"gpt:layers=L,width=D,heads=H[,tied=0|1]", "decoder-only transformer over bytes"},
      {"mlp:layers=L,width=D", "multilayer perceptron over the last 4 bytes"},
  }};
  return all;
}

Architecture make_architecture(const std::string& model, std::size_t sequence, std::size_t batch) {
  const Shape shape = parse(model, sequence, batch);
  if (const auto* gpt = std::get_if<GptShape>(&shape)) return gpt_architecture(*gpt);
  return mlp_architecture(std::get<MlpShape>(shape));
}

std::unique_ptr<Model> make_model(Rank& r, const std::string& model, const Architecture& a,
                                  const Options& o, std::size_t sequence, std::size_t batch) {
  const Shape shape = parse(model, sequence, batch);
  if (const auto* gpt = std::get_if<GptShape>(&shape)) return make_gpt(r, *gpt, a, o);
  return make_mlp(r, std::get<MlpShape>(shape), a, o);
}

}  // namespace shardmark
