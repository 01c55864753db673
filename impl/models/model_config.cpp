#include "impl/models/model_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "impl/models/families.hpp"
#include "impl/models/figures.hpp"
#include "impl/models/registry.hpp"

namespace shardmark {
namespace {

bool has_own_head(const Architecture& a) {
  return std::any_of(a.parameters.begin(), a.parameters.end(),
                     [](const Parameter& p) { return p.name == "head.weight"; });
}

// Parameters of experts that a token is not routed to.
std::size_t idle(const Architecture& a, const ExpertsOutline& e) {
  std::size_t total = 0;
  for (const Parameter& p : a.parameters)
    if (p.name.find(".experts.") != std::string::npos)
      total += p.size / e.count * (e.count - e.top_k);
  return total;
}

void outlined(const ConfigKeys& c, std::size_t sequence, std::size_t batch, ModelConfig& m) {
  TransformerOutline o = outline_of_keys(c, m.family);
  o.sequence = sequence, o.batch = batch;
  if (o.longest > 0 && sequence > o.longest)
    c.refuse_all(
        fmt::format("its texts have at most {} tokens, but the sequence is {}: give a "
                    "--sequence of at most {}",
                    o.longest, sequence, o.longest));
  std::optional<Architecture> a = outline_architecture(o);
  if (!a)
    c.refuse_all(
        fmt::format("the model has more than {:.0e} parameters, but may have at most "
                    "that; fewer layers or a smaller width make it smaller",
                    most_parameters));
  m.architecture = std::move(*a);
  m.active = m.architecture.parameter_count() - idle(m.architecture, o.experts);
}

// A file of a model that also sees or hears holds the language model's keys below one key.
bool has_text_inside(const ConfigKeys& c) {
  if (!c.has("text_config")) return false;
  return std::none_of(families().begin(), families().end(), [&](const Family& f) {
    return f.name != std::string_view("gemma3") && c.holds("model_type", f.model_type);
  });
}

// The family of the language model inside, which a file of all of Gemma 3 need not name.
std::string family_inside(const ConfigKeys& whole, const ConfigKeys& text) {
  if (!whole.holds("model_type", "gemma3")) return family_of(text, Purpose::predict);
  const std::string family = family_of(whole, Purpose::predict);
  if (text.has("model_type") && family_of(text, Purpose::predict) != family)
    text.refuse("model_type", "the whole is " + family);
  return family;
}

void read_family(const ConfigKeys& c, std::size_t sequence, std::size_t batch, ModelConfig& m) {
  if (!trains(m.family)) return outlined(c, sequence, batch, m);
  m.form = form_of_keys(c, m.family, false);
  m.architecture = make_architecture(m.form, sequence, batch);
  m.active = m.architecture.parameter_count();
}

bool is_encoder(const ModelConfig& m) { return m.architecture.units.back().name == "pooler"; }

void note_the_head(const ConfigKeys& whole, const ModelConfig& m) {
  if (is_encoder(m)) return;
  const bool tied = !has_own_head(m.architecture);
  if (whole.flag("tie_word_embeddings", tied) != tied)
    whole.refuse("tie_word_embeddings", "\"text_config\" says something else");
  if (tied) whole.note("the head is the embedding's table, which is counted once");
}

}  // namespace

std::size_t embedding_parameters(const Architecture& a) {
  constexpr std::array<const char*, 7> tables{{"wte", "wpe", "embed.weight", "positions.weight",
                                               "types.weight", "head.weight", "head.bias"}};
  std::size_t total = 0;
  for (const Parameter& p : a.parameters)
    if (std::find(tables.begin(), tables.end(), p.name) != tables.end()) total += p.size;
  return total;
}

ModelConfig read_model_config(const std::string& json_text, const std::string& file,
                              std::size_t sequence, std::size_t batch) {
  require(sequence > 0 && batch > 0, "a model is read for at least one token of one text");
  ModelConfig m;
  const ConfigKeys whole(json_text, file, &m.notes);
  const bool inside = has_text_inside(whole);
  const ConfigKeys c = inside ? whole.below("text_config") : whole;
  m.family = inside ? family_inside(whole, c) : family_of(whole, Purpose::predict);
  read_family(c, sequence, batch, m);
  note_the_head(whole, m);
  m.embedding = embedding_parameters(m.architecture);
  if (inside)
    whole.note("read is \"text_config\": what is there beside the language model is not counted");
  if (whole.has("quantization_config") || c.has("quantization_config")) {
    m.form.clear();
    whole.note(
        "\"quantization_config\" is there: counted are the model's parameters, not the "
        "numbers that its quantized checkpoint packs them into");
  }
  return m;
}

}  // namespace shardmark
