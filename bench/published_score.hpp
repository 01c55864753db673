#pragma once
// How well are published measurements predicted? Two efficiencies a machine type, of products and
// of attention, are fitted on the rows of at most 8 GPUs and scored on the rows of more, beside the
// best constant MFU of the same rows.
#include <map>
#include <string>
#include <vector>

#include "bench/published.hpp"
#include "impl/cluster.hpp"

namespace shardmark {

// Shares of the peak matrix rate.
struct Efficiencies {
  double products = 0, attention = 0;
};
// The same cluster with these, for its 2-byte types.
Cluster with(Cluster, const Efficiencies&);
Efficiencies efficiencies_of(const Cluster&);  // in bf16; InputError where it has none

// Tokens a second, a row each, on the row's own preset: as it is, or with these efficiencies.
std::vector<double> predicted(const std::vector<PublishedRow>&);
std::vector<double> predicted(const std::vector<PublishedRow>&, const Efficiencies&);

// Least squares of the logarithms of predicted over measured, Gauss-Newton from fixed starts,
// rounded to a thousandth. rows: of one machine type.
Efficiencies fitted(const std::vector<PublishedRow>& rows);

double mfu_of(const PublishedRow&);  // measured
// The share of the peak with the least median error, to a ten-thousandth.
double best_constant_mfu(const std::vector<PublishedRow>& rows);

// |predicted / measured - 1|: the middle (of two, their mean) and the least one that nine of ten
// do not exceed.
struct Errors {
  std::size_t rows = 0;
  double median = 0, p90 = 0;
};
Errors errors_of(std::vector<double> predicted_over_measured);

struct GroupScore {
  std::string group;  // "a100, at most 8 GPUs: fitted"
  Errors predicted, constant;
};
struct PublishedScore {
  std::vector<PublishedRow> rows;
  std::vector<double> tokens_per_s;            // predicted, with what was fitted
  std::map<std::string, Efficiencies> fitted;  // by machine type
  std::map<std::string, double> constant_mfu;
  std::vector<GroupScore> groups;  // by machine type, then all; those fitted, then those scored
};
PublishedScore score_published(const std::vector<PublishedRow>&);
std::string score_text(const PublishedScore&);

}  // namespace shardmark
