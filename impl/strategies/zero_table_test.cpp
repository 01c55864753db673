// Do the textbook claims give the table that the ZeRO paper prints? All 54 figures of table 1 in
// Rajbhandari et al. 2020: GB (1e9 bytes) of model states a device, in mixed precision with Adam.
// From 100 on the paper truncates, below it rounds half up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "impl/strategies/strategy.hpp"
#include "impl/train.hpp"

namespace shardmark {
namespace {

struct Row {
  double parameters;
  int devices;
  const char* printed[3];  // stages 1, 2, 3
};
constexpr Row table[] = {
    {7.5e9, 1, {"120", "120", "120"}},        {7.5e9, 4, {"52.5", "41.3", "30"}},
    {7.5e9, 16, {"35.6", "21.6", "7.5"}},     {7.5e9, 64, {"31.4", "16.6", "1.88"}},
    {7.5e9, 256, {"30.4", "15.4", "0.47"}},   {7.5e9, 1024, {"30.1", "15.1", "0.12"}},
    {128e9, 1, {"2048", "2048", "2048"}},     {128e9, 4, {"896", "704", "512"}},
    {128e9, 16, {"608", "368", "128"}},       {128e9, 64, {"536", "284", "32"}},
    {128e9, 256, {"518", "263", "8"}},        {128e9, 1024, {"513", "257", "2"}},
    {1000e9, 1, {"16000", "16000", "16000"}}, {1000e9, 4, {"7000", "5500", "4000"}},
    {1000e9, 16, {"4750", "2875", "1000"}},   {1000e9, 64, {"4187", "2218", "250"}},
    {1000e9, 256, {"4046", "2054", "62.5"}},  {1000e9, 1024, {"4011", "2013", "15.6"}},
};

// With as many decimals as were printed.
std::string as_printed(double gb, const std::string& like) {
  if (gb >= 100) return fmt::format("{:.0f}", std::floor(gb));
  const std::size_t point = like.find('.');
  const double scale = std::pow(10, point == like.npos ? 0 : like.size() - point - 1);
  return fmt::format("{:.{}f}", std::floor(gb * scale + 0.5) / scale,
                     point == like.npos ? 0 : like.size() - point - 1);
}

double model_states_gb(double parameters, int devices, const std::string& strategy) {
  Architecture a;
  a.parameters.push_back({"all", static_cast<std::size_t>(parameters), {}});
  a.units.push_back({});
  a.units.back().uses = {0};
  a.rows = 1;
  Training t;
  t.strategy = strategy, t.ranks = devices;
  t.options.precision = precision_in(DType::bf16, DType::bf16);
  double bytes = 0;
  for (const auto& [what, b] : claims_of(t, a).textbook)
    if (is_model_state(what.first)) bytes += b;
  return bytes * 1e-9;
}

TEST(ZeroPaper, TableOneToTheLastDigit) {
  int figures = 0;
  for (const Row& row : table)
    for (int stage : {1, 2, 3}) {
      const std::string printed = row.printed[stage - 1];
      const double gb = model_states_gb(row.parameters, row.devices, fmt::format("zero{}", stage));
      EXPECT_EQ(as_printed(gb, printed), printed)
          << row.parameters << " parameters, N = " << row.devices << ", stage " << stage;
      ++figures;
    }
  EXPECT_EQ(figures, 54);
}

}  // namespace
}  // namespace shardmark
