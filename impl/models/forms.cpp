#include "impl/models/forms.hpp"

#include <fmt/format.h>

#include <concepts>

#include "impl/models/figures.hpp"

namespace shardmark {
namespace {

template <class S, class Shape>
concept MaybeConst = std::same_as<std::remove_const_t<S>, Shape>;

template <class Visitor, MaybeConst<GptShape> Shape>
void figures(Visitor& v, Shape& s) {
  v("layers", s.layers), v("width", s.width), v("heads", s.heads);
  v("tied", s.tied, true), v("inner", s.inner, 4 * s.width);
  v("vocabulary", s.vocabulary, vocabulary), v("positions", s.positions, s.sequence);
  v("epsilon", s.epsilon, 1e-5f);
}

template <class Visitor, MaybeConst<LlamaShape> Shape>
void figures(Visitor& v, Shape& s) {
  const LlamaShape usual;
  v("layers", s.layers), v("width", s.width), v("heads", s.heads);
  v("kv_heads", s.kv_heads, s.heads);
  const bool divides = s.heads > 0 && s.width % s.heads == 0;
  v("head_dim", s.head_dim, divides ? s.width / s.heads : 0);
  // 8/3 of the width (Touvron et al. 2023, section 2.2), up to the next multiple of 8.
  v("inner", s.inner, (s.width + 2) / 3 * 8);
  v("tied", s.tied, usual.tied), v("vocabulary", s.vocabulary, vocabulary);
  v("positions", s.positions, usual.positions), v("window", s.window, usual.window);
  v("qkv_bias", s.qkv_bias, usual.qkv_bias), v("o_bias", s.o_bias, usual.o_bias);
  v("mlp_bias", s.mlp_bias, usual.mlp_bias), v("epsilon", s.epsilon, usual.epsilon);
  v("theta", s.theta, usual.theta), v("rope_factor", s.scaling.factor, usual.scaling.factor);
  v("rope_low", s.scaling.low, usual.scaling.low);
  v("rope_high", s.scaling.high, usual.scaling.high);
  v("rope_original", s.scaling.original, usual.scaling.original);
}

template <class Visitor, MaybeConst<MlpShape> Shape>
void figures(Visitor& v, Shape& s) {
  v("layers", s.layers), v("width", s.width);
}

template <class Shape>
void read(const std::string& model, std::string_view text, Shape& s) {
  FigureNames names;
  figures(names, s);
  FigureReader reader(model, text, names.all());
  figures(reader, s);
}

template <class Shape>
std::string written(const char* family, const Shape& s) {
  FigureWriter writer(family);
  figures(writer, s);
  return writer.form();
}

// Before anything is built: a count, not the parameters themselves.
void at_most_the_parameters(const std::string& model, double count) {
  if (count > most_parameters)
    throw InputError(
        fmt::format("model '{}': it has {:.2g} parameters, but may have at most {:.0e}", model,
                    count, most_parameters));
}

void fits(const std::string& model, std::size_t sequence, const char* key, std::size_t most) {
  if (most > 0 && sequence > most)
    throw InputError(
        fmt::format("model '{}': {} is {}, but the sequence is {}: give a --sequence "
                    "of at most {}",
                    model, key, most, sequence, most));
}

void check_scaling(const std::string& model, const RotaryScaling& s) {
  const RotaryScaling usual;
  if (s.original == 0 && (s.low != usual.low || s.high != usual.high))
    throw InputError(fmt::format(
        "model '{}': rope_low and rope_high say nothing without rope_original: give it too",
        model));
  if (s.original > 0 && s.high <= s.low)
    throw InputError(fmt::format("model '{}': rope_high is {}, but must be above rope_low, {}",
                                 model, s.high, s.low));
}

}  // namespace

double parameters_of(const GptShape& s) {
  const auto d = static_cast<double>(s.width), inner = static_cast<double>(s.inner);
  return static_cast<double>(s.layers) * (4 * d * d + 2 * d * inner + 9 * d + inner) +
         static_cast<double>((s.tied ? 1 : 2) * s.vocabulary + s.positions + 2) * d;
}

double parameters_of(const LlamaShape& s) {
  const auto d = static_cast<double>(s.width);
  return d * (static_cast<double>(s.layers) *
                  static_cast<double>(s.qkv() + s.attended() + 3 * s.inner + 2) +
              static_cast<double>((s.tied ? 1 : 2) * s.vocabulary + 1));
}

GptShape gpt_shape(const std::string& model, std::string_view text, std::size_t sequence,
                   std::size_t batch) {
  GptShape s;
  s.sequence = sequence, s.batch = batch;
  read(model, text, s);
  if (s.heads > s.width)
    throw InputError(fmt::format("model '{}': heads is {}, but may be at most the width, {}", model,
                                 s.heads, s.width));
  if (s.width % s.heads != 0)
    throw InputError(
        fmt::format("model '{}': width {} is not divisible by heads {}", model, s.width, s.heads));
  fits(model, sequence, "positions", s.positions);
  at_most_the_parameters(model, parameters_of(s));
  return s;
}

LlamaShape llama_shape(const std::string& model, std::string_view text, std::size_t sequence,
                       std::size_t batch) {
  LlamaShape s;
  s.sequence = sequence, s.batch = batch;
  read(model, text, s);
  if (s.head_dim == 0)
    throw InputError(fmt::format("model '{}': width {} is not divisible by heads {}: give head_dim",
                                 model, s.width, s.heads));
  if (s.head_dim % 2 != 0)
    throw InputError(
        fmt::format("model '{}': head_dim is {}, but must be even: rotary positions turn pairs",
                    model, s.head_dim));
  if (s.kv_heads > s.heads || s.heads % s.kv_heads != 0)
    throw InputError(fmt::format("model '{}': kv_heads is {}, but must divide heads, {}", model,
                                 s.kv_heads, s.heads));
  check_scaling(model, s.scaling);
  fits(model, sequence, "positions", s.positions);
  fits(model, sequence, "window", s.window);
  at_most_the_parameters(model, parameters_of(s));
  return s;
}

MlpShape mlp_shape(const std::string& model, std::string_view text, std::size_t sequence,
                   std::size_t batch) {
  MlpShape s{0, 0, vocabulary, sequence, batch};
  read(model, text, s);
  const auto d = static_cast<double>(s.width);
  at_most_the_parameters(model, static_cast<double>(s.layers) * (d * d + d));
  return s;
}

std::string form_of(const GptShape& s) { return written("gpt", s); }
std::string form_of(const LlamaShape& s) { return written("llama", s); }
std::string form_of(const MlpShape& s) { return written("mlp", s); }

}  // namespace shardmark
