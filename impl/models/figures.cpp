#include "impl/models/figures.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>

#include "kernels/error.hpp"

namespace shardmark {
namespace {

bool is_among(const std::string& key, const std::string& names) {
  return !key.empty() && (", " + names + ",").find(", " + key + ",") != std::string::npos;
}

}  // namespace

std::size_t most_whole(std::string_view key) {
  if (key == "layers") return 10'000;
  if (key == "positions" || key == "window" || key == "rope_original") return 1'000'000'000;
  return 1'000'000;
}

RealLimits real_limits(std::string_view key) {
  if (key == "epsilon") return {1e-30, 1};
  return {1e-30, 1e30};
}

FigureReader::FigureReader(const std::string& model, std::string_view text,
                           const std::string& names)
    : model_(model) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view field = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = field.find('=');
    const std::string key(field.substr(0, equals));
    if (equals == std::string_view::npos || !is_among(key, names))
      throw InputError(fmt::format("model '{}': '{}' is not a field of this family, which takes {}",
                                   model, field, names));
    if (!given_.emplace(key, field.substr(equals + 1)).second)
      throw InputError(fmt::format("model '{}': {} is given twice; give it once", model, key));
  }
}

std::size_t FigureReader::whole(const std::string& key, const std::string& text) const {
  std::size_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (end != last || text.empty() || error == std::errc::invalid_argument)
    throw InputError(
        fmt::format("model '{}': {} is '{}', but must be a whole number", model_, key, text));
  if (error != std::errc{} || value > most_whole(key))
    throw InputError(fmt::format("model '{}': {} is {}, but must be at most {}", model_, key, text,
                                 most_whole(key)));
  if (value == 0) throw InputError(fmt::format("model '{}': {} must be 1 or more", model_, key));
  return value;
}

void FigureReader::operator()(const char* key, std::size_t& to) {
  if (!given_.contains(key))
    throw InputError(fmt::format("model '{}': {} is missing", model_, key));
  (*this)(key, to, 0);
}

void FigureReader::operator()(const char* key, std::size_t& to, std::size_t otherwise) {
  const auto it = given_.find(key);
  to = it == given_.end() ? otherwise : whole(key, it->second);
}

void FigureReader::operator()(const char* key, bool& to, bool otherwise) {
  const auto it = given_.find(key);
  to = it == given_.end() ? otherwise : it->second == "1";
  if (it != given_.end() && !to && it->second != "0")
    throw InputError(
        fmt::format("model '{}': {} is {}, but must be 0 or 1", model_, key, it->second));
}

template <class T>
T FigureReader::real(const char* key, T otherwise) const {
  const auto it = given_.find(key);
  if (it == given_.end()) return otherwise;
  const std::string& text = it->second;
  const char* const last = text.data() + text.size();
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (end != last || error != std::errc{} || !(value > 0) || !std::isfinite(value))
    throw InputError(
        fmt::format("model '{}': {} is '{}', but must be a number above 0", model_, key, text));
  const RealLimits limits = real_limits(key);
  if (value < limits.least || value > limits.most)
    throw InputError(fmt::format("model '{}': {} is {}, but must be from {} to {}", model_, key,
                                 text, limits.least, limits.most));
  return value;
}

void FigureReader::operator()(const char* key, double& to, double otherwise) {
  to = real(key, otherwise);
}

void FigureReader::operator()(const char* key, float& to, float otherwise) {
  to = real(key, otherwise);
}

void FigureWriter::write(const char* key, const std::string& value) {
  form_ += fmt::format("{}{}={}", separator_, key, value);
  separator_ = ',';
}

void FigureWriter::operator()(const char* key, const std::size_t& value) {
  write(key, fmt::format("{}", value));
}

void FigureWriter::operator()(const char* key, const std::size_t& value, std::size_t otherwise) {
  if (value != otherwise) (*this)(key, value);
}

void FigureWriter::operator()(const char* key, const bool& value, bool otherwise) {
  if (value != otherwise) write(key, value ? "1" : "0");
}

void FigureWriter::operator()(const char* key, const double& value, double otherwise) {
  if (value != otherwise) write(key, fmt::format("{}", value));
}

void FigureWriter::operator()(const char* key, const float& value, float otherwise) {
  if (value != otherwise) write(key, fmt::format("{}", value));
}

}  // namespace shardmark
