#include "bench/exercises/formulas.hpp"

namespace shardmark {

Cell cell_of(const Setting& s) {
  Cell c;
  c.strategy = s.strategy;
  c.ranks = s.ranks;
  c.precision = c.reduce_dtype = s.precision;
  c.accumulate = s.accumulate;
  c.batch = 1;
  c.sequence = 8;
  return c;
}

PerParameter per_parameter(const Setting& s) {
  const Claims claims = claims_of(training_of(cell_of(s), {}));
  const auto parameters = static_cast<double>(claims.parameters);
  PerParameter out;
  for (const auto& [held, bytes] : claims.textbook) switch (held.first) {
      case Tag::parameter:
        out.parameter += bytes / parameters;
        break;
      case Tag::gradient:
        out.gradient += bytes / parameters;
        break;
      case Tag::master:
        out.master += bytes / parameters;
        break;
      case Tag::first_moment:
      case Tag::second_moment:
        out.moments += bytes / parameters;
        break;
      default:
        break;
    }
  for (const auto& [call, traffic] : claims.textbook_calls) {
    if (call.second == DType::f64) continue;  // the norm, one number
    (call.first == Verb::all_gather ? out.sent_parameters : out.sent_gradients) +=
        traffic.volume / parameters;
  }
  return out;
}

Bucketing bucketing(std::uint64_t bucket_bytes) {
  Cell c = cell_of({"zero2", 8, "fp32", 1});
  c.bucket_bytes = bucket_bytes;
  const Claims claims = claims_of(training_of(c, {}));
  const auto calls = claims.exact_calls.find({Verb::reduce_scatter, DType::f32});
  const auto held = claims.exact.find({Tag::bucket, DType::f32});
  return {calls == claims.exact_calls.end() ? 0 : static_cast<double>(calls->second.calls),
          held == claims.exact.end() ? 0 : held->second};
}

}  // namespace shardmark
