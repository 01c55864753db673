#include "impl/models/registry.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <map>
#include <set>
#include <variant>

#include "impl/models/gpt.hpp"
#include "impl/models/mlp.hpp"

namespace shardmark {
namespace {

using Shape = std::variant<GptShape, MlpShape>;
using Fields = std::map<std::string, std::size_t>;

// Far above what any machine trains, and low enough that a form which is a typo costs no memory.
constexpr std::size_t most_layers = 10'000, most_width = 1'000'000;
constexpr std::size_t most_parameters = 1'000'000'000'000;

std::size_t whole_number(const std::string& model, std::string_view key, std::string_view text) {
  const std::size_t most = key == "layers" ? most_layers : most_width;
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size() && !text.empty();
  if (!whole || error == std::errc::invalid_argument)
    throw InputError(
        fmt::format("model '{}': {} is '{}', but must be a whole number", model, key, text));
  if (error != std::errc{} || value > most)
    throw InputError(
        fmt::format("model '{}': {} is {}, but must be at most {}", model, key, text, most));
  return value;
}

// "layers=4,width=256" over the keys that a family knows; given holds what a key is where it is not
// named, 0: must be.
Fields parse_fields(const std::string& model, std::string_view text, Fields given) {
  std::string known;
  for (const auto& [key, value] : given) known += (known.empty() ? "" : ", ") + key;
  std::set<std::string> seen;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view field = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = field.find('=');
    const std::string key(field.substr(0, equals));
    if (equals == std::string_view::npos || !given.contains(key))
      throw InputError(fmt::format("model '{}': '{}' is not a field of this family, which takes {}",
                                   model, field, known));
    if (!seen.insert(key).second)
      throw InputError(fmt::format("model '{}': {} is given twice; give it once", model, key));
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

// Before anything is built: a count, not the parameters themselves.
void at_most_the_parameters(const std::string& model, std::size_t count) {
  if (count > most_parameters)
    throw InputError(
        fmt::format("model '{}': it has {:.2g} parameters, but may have at most {:.0e}", model,
                    static_cast<double>(count), static_cast<double>(most_parameters)));
}

GptShape gpt_shape(const std::string& model, std::string_view text, std::size_t sequence,
                   std::size_t batch) {
  const Fields f =
      parse_fields(model, text, {{"layers", 0}, {"width", 0}, {"heads", 0}, {"tied", 1}});
  at_least_one(model, f, {"layers", "width", "heads"});
  const std::size_t width = f.at("width"), heads = f.at("heads");
  if (heads > width)
    throw InputError(fmt::format("model '{}': heads is {}, but may be at most the width, {}", model,
                                 heads, width));
  if (width % heads != 0)
    throw InputError(
        fmt::format("model '{}': width {} is not divisible by heads {}", model, width, heads));
  if (f.at("tied") > 1)
    throw InputError(
        fmt::format("model '{}': tied is {}, but must be 0 or 1", model, f.at("tied")));
  // 1e17 at the bounds: no overflow.
  at_most_the_parameters(model, f.at("layers") * (12 * width * width + 13 * width) +
                                    (2 * vocabulary + sequence + 2) * width);
  GptShape s;
  s.layers = f.at("layers"), s.width = width, s.heads = heads, s.inner = 4 * width;
  s.vocabulary = vocabulary, s.positions = sequence, s.tied = f.at("tied") == 1;
  s.sequence = sequence, s.batch = batch;
  return s;
}

MlpShape mlp_shape(const std::string& model, std::string_view text, std::size_t sequence,
                   std::size_t batch) {
  const Fields f = parse_fields(model, text, {{"layers", 0}, {"width", 0}});
  at_least_one(model, f, {"layers", "width"});
  const std::size_t width = f.at("width");
  at_most_the_parameters(model, f.at("layers") * (width * width + width));
  return {f.at("layers"), width, vocabulary, sequence, batch};
}

Shape parse(const std::string& model, std::size_t sequence, std::size_t batch) {
  std::string form = model;
  for (const Preset& p : presets())
    if (p.name == model) form = p.form;
  const std::size_t colon = form.find(':');
  const std::string family = form.substr(0, colon),
                    text = colon == std::string::npos ? "" : form.substr(colon + 1);
  if (family == "gpt" && !text.empty()) return gpt_shape(model, text, sequence, batch);
  if (family == "mlp" && !text.empty()) return mlp_shape(model, text, sequence, batch);
  std::string names;
  for (const Preset& p : presets()) names += p.name + ", ";
  for (const FreeForm& free : free_forms())
    names += free.pattern + (&free == &free_forms().back() ? "" : ", ");
  throw InputError(fmt::format("model '{}' is unknown: it may be {}", model, names));
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
