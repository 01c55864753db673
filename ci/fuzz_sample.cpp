// What does a fuzz target look like that fails? For the test of their driver: an input loops,
// sleeps, aborts or throws where it says so.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with("loops"))
    for (volatile bool on = true; on;) continue;
  if (text.starts_with("sleeps"))
    for (volatile bool on = true; on;) sleep(1);
  if (text.starts_with("aborts")) std::abort();
  if (text.starts_with("throws")) (void)std::vector<int>().at(1);
  return 0;
}
