// Which cells of a report may be held against each other? See report_groups.hpp.
#include "bench/report_groups.hpp"

#include <algorithm>

#include "bench/record.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

// What may trade memory for time without another training coming out of it.
constexpr const char* free_settings[] = {
    "bucket_bytes", "buckets",     "prefetch",  "keep_last",      "persist_below",     "recompute",
    "all_reduce",   "collectives", "timeout_s", "comm_timeout_s", "memory_limit_bytes"};

// What a loss depends on, beside the model and the batch of all ranks.
constexpr const char* loss_settings[] = {"vocab", "data",         "sequence",   "precision",
                                         "clip",  "reduce_dtype", "loss_scale", "loss_scale_window",
                                         "lr",    "seed",         "freeze",     "inject"};

std::size_t place(std::vector<json>& all, json one) {
  const auto it = std::find(all.begin(), all.end(), one);
  if (it != all.end()) return static_cast<std::size_t>(it - all.begin());
  all.push_back(std::move(one));
  return all.size() - 1;
}

}  // namespace

std::size_t ReportGroups::work(std::size_t run, json settings) {
  for (const char* key : free_settings) settings.erase(key);
  return place(works_, {run, std::move(settings)});
}

std::size_t ReportGroups::curve(const json& cell) {
  json one = {
      {"model", model_at(cell)},
      {"global_batch", cell.at("ranks").get<std::int64_t>() * cell.at("batch").get<std::int64_t>() *
                           cell.at("accumulate").get<std::int64_t>()}};
  for (const char* key : loss_settings)
    if (cell.contains(key)) one[key] = cell.at(key);
  return place(curves_, std::move(one));
}

json ReportGroups::curves() const {
  json out = json::array();
  for (const json& curve : curves_) {
    json& shown = out.emplace_back(json::object());
    for (const auto& [key, value] : curve.items())
      if (std::any_of(curves_.begin(), curves_.end(),
                      [&, &key = key, &value = value](const json& c) {
                        return c.value(key, json()) != value;
                      }))
        shown[key] = value;
  }
  return out;
}

}  // namespace shardmark
