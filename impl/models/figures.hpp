#pragma once
// How are figures of a model read and written, "layers=4,width=256"? A family lists its figures
// once (forms.cpp), and a visitor goes through the list: one that names them, one that reads them,
// one that writes those that are not what they are anyway.
#include <map>
#include <string>
#include <string_view>
#include <type_traits>

namespace shardmark {

// What a figure may be at most, and at least where that is not 1: one table for forms and for what
// a config.json says. Far above what any machine trains, and low enough that a form which is a typo
// costs no memory.
std::size_t most_whole(std::string_view key);
struct RealLimits {
  double least, most;
};
RealLimits real_limits(std::string_view key);  // of a float, whose products stay finite
inline constexpr double most_parameters = 1e12;

class FigureNames {
 public:
  template <class T>
  void operator()(const char* key, T&, std::type_identity_t<T> = {}) {
    all_ += (all_.empty() ? "" : ", ") + std::string(key);
  }
  const std::string& all() const { return all_; }

 private:
  std::string all_;
};

// Throws InputError in one sentence that names the model and the figure.
class FigureReader {
 public:
  // names: of all figures of the family, "layers, width".
  FigureReader(const std::string& model, std::string_view text, const std::string& names);
  void operator()(const char* key, std::size_t& to);  // must be named
  void operator()(const char* key, std::size_t& to, std::size_t otherwise);
  void operator()(const char* key, bool& to, bool otherwise);
  void operator()(const char* key, double& to, double otherwise);
  void operator()(const char* key, float& to, float otherwise);

 private:
  std::size_t whole(const std::string& key, const std::string& text) const;
  template <class T>
  T real(const char* key, T otherwise) const;

  const std::string& model_;
  std::map<std::string, std::string> given_;
};

class FigureWriter {
 public:
  explicit FigureWriter(std::string family) : form_(std::move(family)) {}
  void operator()(const char* key, const std::size_t& value);
  void operator()(const char* key, const std::size_t& value, std::size_t otherwise);
  void operator()(const char* key, const bool& value, bool otherwise);
  void operator()(const char* key, const double& value, double otherwise);
  void operator()(const char* key, const float& value, float otherwise);
  const std::string& form() const { return form_; }

 private:
  void write(const char* key, const std::string& value);

  std::string form_;
  char separator_ = ':';
};

}  // namespace shardmark
