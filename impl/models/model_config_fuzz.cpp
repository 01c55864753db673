// Does reading a config.json survive any bytes? A fuzz target (SHARDMARK_FUZZ).
#include "impl/models/model_config.hpp"
#include "kernels/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardmark;
  try {
    (void)read_model_config({reinterpret_cast<const char*>(data), size}, "c.json", 8, 1);
  } catch (const InputError&) {
  }
  return 0;
}
