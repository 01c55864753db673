// Does the fit find what the samples were made from?
#include "bench/cost_fit.hpp"

#include <gtest/gtest.h>

namespace shardmark {
namespace {

CostSample made(double flops, double bytes, const OpCost& c) {
  return {flops, bytes, c.launch_ns + flops * c.ns_per_flop + bytes * c.ns_per_byte, 0};
}

TEST(CostFit, finds_all_three_terms) {
  const OpCost true_cost{500, 0.004, 0.05, 0};
  std::vector<CostSample> samples;
  for (const auto& [f, b] : {std::pair{1e6, 1e4}, {4e6, 2e4}, {1e7, 5e5}, {3e8, 1e6}, {2e6, 3e6}})
    samples.push_back(made(f, b, true_cost));
  const OpCost fit = fit_cost(samples);
  EXPECT_NEAR(fit.launch_ns, 500, 1e-6);
  EXPECT_NEAR(fit.ns_per_flop, 0.004, 1e-12);
  EXPECT_NEAR(fit.ns_per_byte, 0.05, 1e-10);
  EXPECT_NEAR(relative_error(fit, samples[3]), 0, 1e-9);
}

TEST(CostFit, bytes_that_no_cache_has_cost_more) {
  std::vector<CostSample> samples;
  for (const double bytes : {1e4, 1e5, 1e6})
    for (const double cold : {0.0, 0.25, 0.75})
      samples.push_back({0, bytes, 100 + bytes * 0.02 + cold * bytes * 0.04, cold * bytes});
  const OpCost fit = fit_cost(samples);
  EXPECT_NEAR(fit.launch_ns, 100, 1e-6);
  EXPECT_NEAR(fit.ns_per_byte, 0.02, 1e-10);
  EXPECT_NEAR(fit.ns_per_cold_byte, 0.04, 1e-10);
}

TEST(CostFit, no_term_is_negative) {
  // The line through both is 3 * bytes - 1000: a launch of -1000 would fit it exactly.
  const std::vector<CostSample> samples = {{0, 1000, 2000, 0}, {0, 2000, 5000, 0}};
  const OpCost fit = fit_cost(samples);
  EXPECT_EQ(fit.launch_ns, 0);
  // Least squares of (1000 b / 2000 - 1) and (2000 b / 5000 - 1): b = (0.5 + 0.4) / (0.25 + 0.16).
  EXPECT_NEAR(fit.ns_per_byte, 0.9 / 0.41, 1e-9);
}

TEST(CostFit, one_sample_is_work_and_not_a_launch) {
  EXPECT_NEAR(fit_cost({{1e6, 0, 250, 0}}).ns_per_flop, 0.00025, 1e-15);
  EXPECT_EQ(fit_cost({{1e6, 0, 250, 0}}).launch_ns, 0);
  EXPECT_NEAR(fit_cost({{0, 0, 250, 0}}).launch_ns, 250, 1e-9);
}

TEST(CostFit, nothing_measured_costs_nothing) {
  const OpCost fit = fit_cost({});
  EXPECT_EQ(fit.launch_ns + fit.ns_per_flop + fit.ns_per_byte, 0);
}

}  // namespace
}  // namespace shardmark
