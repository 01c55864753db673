// How does the block that explains a cell begin? What was trained, by what, and what to know before
// its numbers are read. See explain_parts.hpp.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/explain_parts.hpp"
#include "bench/link_text.hpp"
#include "bench/record.hpp"
#include "bench/units.hpp"
#include "bench/watched.hpp"

namespace shardmark::explained {

using nlohmann::json;

namespace {

// What carried the bytes, and where the ranks were.
std::string transport_text(const json& r) {
  const json& c = r["cell"];
  const std::string link = c.value("link", "none"), made = c.value("collectives", "memory"),
                    network = c.value("network", "");
  std::string text = c["comm"].get<std::string>() + " ranks, " +
                     (made == "memory" ? "which read each other's memory"
                      : made == "ring" ? "which send messages around a ring"
                      : made == "nccl" ? "which call NCCL's collectives"
                                       : "which call the MPI library's collectives");
  if (link != "none") text += fmt::format(", through an emulated link of {}", link_in_words(link));
  if (!network.empty()) text += ", network: " + network;
  std::vector<std::string> hosts;
  for (const std::string host : r.value("hosts", json::array()))
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  if (hosts.size() > 1) text += fmt::format(", on {}", fmt::join(hosts, ", "));
  return text;
}

// Options that change bytes, where they are not the usual ones.
std::string options_text(const json& c) {
  std::string text = "in " + c.value("precision", "fp32");
  if (const std::string wire = c.value("reduce_dtype", ""); wire != c.value("precision", ""))
    text += ", gradients travel in " + wire;
  if (c.value("loss_scale", 0.0) > 0)
    text += fmt::format(", loss scale from {}, doubled behind {} good steps",
                        c["loss_scale"].get<double>(), c["loss_scale_window"].dump());
  if (c.value("recompute", "none") == "unit")
    text += ", a unit's activations computed again for its backward";
  if (!c.value("keep_last", true)) text += ", weights gathered again at the turn to backward";
  if (c.value("persist_below", 0) > 0)
    text += fmt::format(", parameters of fewer than {} elements whole", whole(c["persist_below"]));
  const auto frozen = c.value("freeze", std::vector<std::string>());
  if (!frozen.empty()) text += fmt::format(", frozen: {}", fmt::join(frozen, ", "));
  return text;
}

}  // namespace

std::string opening(const json& r) {
  const json& c = r["cell"];
  std::string text = fmt::format("{}, round {}: {}\n", c["id"].get<std::string>(),
                                 r["round"].get<int>(), r["status"].get<std::string>());
  text += wrapped(fmt::format(
                      "{} trained by {} on {} rank{}, {} x {} tokens a rank, overlap {}, {}{}",
                      model_at(c), c["strategy"].get<std::string>(), c["ranks"].get<int>(),
                      c["ranks"] == 1 ? "" : "s", c["batch"].get<int>(), c["sequence"].get<int>(),
                      c["overlap"].get<bool>() ? "on" : "off",
                      c["clip"] == 0 ? "no clipping"
                                     : fmt::format("norm clipped to {}", c["clip"].get<double>()),
                      c["accumulate"] == 1
                          ? ""
                          : fmt::format(", {} micro-steps a step", c["accumulate"].get<int>())),
                  columns) +
          "\n";
  if (!c.value("config", "").empty())
    text += wrapped(fmt::format("{} is {}", model_at(c), text_at(c, "model")), columns) + "\n";
  text += wrapped(options_text(c), columns) + "\n";
  text += wrapped(transport_text(r), columns) + "\n";
  if (const std::string watched = watched_text(c); !watched.empty()) text += watched + "\n";
  if (r.value("shared_device", false))
    text += wrapped(
                "several ranks share one GPU: they take turns on it, so no time here says how "
                "strategies scale",
                columns) +
            "\n";
  if (r["oversubscribed"].get<bool>())
    text += wrapped(
                "more compute and communication threads than cores: ranks with cores of their own "
                "are faster",
                columns) +
            "\n";
  return text;
}

}  // namespace shardmark::explained
