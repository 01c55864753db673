#include "bench/exercises/small_trial.hpp"

#include "bench/cell.hpp"
#include "bench/measured.hpp"
#include "bench/text.hpp"

namespace shardmark::testing {

namespace {

class InThisProcess final : public CellRunner {
 public:
  std::optional<Ended> run(const Cell& cell, const Attempt&) override {
    try {
      const Text text = load_text(cell.data);
      Training training = training_of(cell, text.bytes);
      training.rate_products = true;
      nlohmann::json sections = sections_of(training, train(training));
      sections["corpus"] = {
          {"name", text.name}, {"size_bytes", text.bytes.size()}, {"fnv1a64", hex16(text.hash)}};
      return Ended{sections, "", 1};
    } catch (const std::exception& e) {
      return Ended{nullptr, e.what(), 1};
    }
  }
  bool isolates() const override { return true; }
  int cores() const override { return 1; }
  int interrupted_by() override { return 0; }
};

std::string squeezed(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\n')
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  return out;
}

}  // namespace

Trial small_trial(const std::string& suite, const Smaller& smaller) {
  const Folder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  InThisProcess runner;
  try {
    std::optional<Trial> trial = run_trial(suite, runner, smaller);
    std::filesystem::current_path(before);
    return std::move(*trial);
  } catch (...) {
    std::filesystem::current_path(before);
    throw;
  }
}

bool has(const std::string& text, const std::string& words) {
  return squeezed(text).find(squeezed(words)) != std::string::npos;
}

}  // namespace shardmark::testing
