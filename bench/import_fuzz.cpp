// Does importing a strategy config survive any bytes, and is what is taken a line of flags? A fuzz
// target (SHARDMARK_FUZZ). The first byte says what the others are: 0 JSON, 1 YAML, 2 and 3 the
// same with facts of a model.
#include "bench/import.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardmark;
  if (size == 0) return 0;
  ImportFacts facts;
  if (data[0] & 2) facts.ranks = 8, facts.hidden_size = 64, facts.parameters = 1, facts.unit = 1;
  try {
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const Imported i = import_strategy(text, data[0] & 1 ? "c.yaml" : "c.json", facts);
    (void)run_line(i.given);
    (void)predicted_cells_of(i.given);
  } catch (const InputError&) {
  }
  return 0;
}
