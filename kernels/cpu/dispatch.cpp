// Which instruction set computes? The best that this machine has, unless another is asked for by
// name: by the call, or by SHARDMARK_ISA in the environment.
#include <array>
#include <atomic>
#include <cstdlib>

#include "math.hpp"
#include "table.hpp"

namespace shardmark::cpu {

namespace {

struct Available {
  std::array<const Kernels*, 3> table{};
  std::size_t count = 0;
  void add(const Kernels& k) { table[count++] = &k; }
};

const Available& available() {
  static const Available all = [] {
    Available a;
#if defined(SHARDMARK_X86)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("f16c");
    if (v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      a.add(avx512::kernels());
    }
    if (v3) a.add(avx2::kernels());
#endif
    a.add(baseline::kernels());
    return a;
  }();
  return all;
}

const Kernels& named(const std::string& name) {
  std::string known;
  const Available& a = available();
  for (std::size_t i = 0; i < a.count; ++i) {
    if (name == a.table[i]->name) return *a.table[i];
    known += (i > 0 ? ", " : "") + std::string(a.table[i]->name);
  }
  throw InputError("the instruction set '" + name +
                   "' is not one that this machine and this build have: " + known);
}

std::atomic<const Kernels*>& chosen() {
  static std::atomic<const Kernels*> choice = [] {
    const char* asked = std::getenv("SHARDMARK_ISA");
    return asked && *asked ? &named(asked) : available().table[0];
  }();
  return choice;
}

}  // namespace

const Kernels* const* tables(std::size_t& count) {
  count = available().count;
  return available().table.data();
}
const Kernels& table() { return *chosen().load(std::memory_order_relaxed); }

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < available().count; ++i)
    names.emplace_back(available().table[i]->name);
  return names;
}
void use_instruction_set(const std::string& name) {
  chosen().store(&named(name), std::memory_order_relaxed);
}
std::string instruction_set() { return table().name; }

}  // namespace shardmark::cpu
