#include "impl/passes.hpp"

#include <algorithm>

namespace shardmark {

std::vector<Passes> passes_of(const Architecture& a, const Options& o) {
  std::vector<Passes> passes;
  bool backward = false;
  for (const Unit& u : a.units) {
    backward = backward || std::ranges::any_of(u.uses, [&](int p) {
                 return !is_frozen(o, p) && a.parameters[static_cast<std::size_t>(p)].size > 0;
               });
    // The last unit's backward comes at once: nothing would be saved.
    const bool again = backward && o.recompute == Recompute::unit && &u != &a.units.back() &&
                       u.activation + u.statistics > 0;
    passes.push_back(
        {backward, again, backward && !again, backward && (u.backward_reads || again)});
  }
  return passes;
}

void each_product(const Architecture& a, const Options& o,
                  const std::function<void(const Product&)>& see) {
  const std::vector<Passes> passes = passes_of(a, o);
  for (std::size_t u = 0; u < a.units.size(); ++u) {
    for (const Product& p : a.units[u].forward) see(p);
    if (!passes[u].backward) continue;
    for (const Product& p : a.units[u].backward)
      if (p.gradient_of < 0 || !is_frozen(o, p.gradient_of)) see(p);
  }
}

double flops_of(const Architecture& a, const Options& o) {
  double total = 0;
  each_product(a, o, [&](const Product& p) { total += flops(p.shape(DType::f32)) * p.times; });
  return total;
}

}  // namespace shardmark
