// What did the ranks of one cell send, and what does the formula say? See explain_parts.hpp.
#include <fmt/format.h>

#include "bench/explain_parts.hpp"
#include "bench/record.hpp"
#include "bench/registry.hpp"
#include "bench/units.hpp"

namespace shardmark::explained {

using nlohmann::json;

std::string whole(const json& value) {
  return value.is_number() ? grouped(value.get<double>()) : none;
}

std::string difference(const json& measured, const json& exact) {
  if (!measured.is_number() || !exact.is_number()) return none;
  const double d = measured.get<double>() - exact.get<double>();
  return d == 0 ? "0" : (d > 0 ? "+" : "") + grouped(d);
}

std::string why(const json& in, const std::string& key) {
  return in.value(key + "_reason", "no reason given");
}

namespace {

std::string transport_moved(const json& t) {
  if (!t["moved_bytes"].is_array())
    return wrapped("  moved: not witnessed by the transport; " + why(t, "moved_bytes"), columns,
                   "  ") +
           "\n";
  Grid grid(1);
  grid.row(
      {"  rank, over all " + whole(t["total_steps"]) + " steps", "ledger", "moved", "difference"});
  for (std::size_t i = 0; i < t["moved_bytes"].size(); ++i) {
    const json& volume = t["total_volume_bytes"].at(i);
    grid.row({fmt::format("  {}", i), whole(volume), whole(t["moved_bytes"][i]),
              difference(t["moved_bytes"][i], volume)});
  }
  return grid.text() + wrapped("  moved: " + t["moved_witness"].get<std::string>(), columns, "  ") +
         "\n";
}

std::string interface_moved(const json& t) {
  const json& seen = t.value("interface", json());
  if (!seen.is_object())
    return wrapped("  no interface: " + why(t, "interface"), columns, "  ") + "\n";
  Grid grid(1);
  grid.row({fmt::format("  rank, over {} counted steps", whole(seen["steps"])), "bytes", "packets",
            "payload", "ledger", "payload/ledger"});
  for (std::size_t i = 0; i < seen["by_rank"].size(); ++i) {
    const json& s = seen["by_rank"][i];
    const double volume = s["volume_bytes"];
    grid.row(
        {fmt::format("  {}", i), whole(s["bytes"]), whole(s["packets"]), whole(s["payload_bytes"]),
         whole(s["volume_bytes"]),
         volume > 0 ? fmt::format("{:.4f}", s["payload_bytes"].get<double>() / volume) : none});
  }
  return "\n" + grid.text() +
         wrapped(fmt::format("  bytes, packets: what interface {} of the rank's host sent, MTU {}; "
                             "payload: without {} bytes of headers a packet",
                             seen["name"].get<std::string>(), whole(seen["mtu"]),
                             whole(seen["header_bytes_per_packet"])),
                 columns, "  ") +
         "\n";
}

std::string reduction_text(const json& t) {
  const json& r = t.value("reduction", json());
  if (!r.is_object()) return "";
  std::string text =
      fmt::format("  gradients travel in {} and are added in {}; 1/N is applied {}",
                  text_at(r, "dtype"), text_at(r, "accumulates_in"), text_at(r, "mean_applied"));
  if (r.contains("kept_in")) text += "; the result is kept in " + text_at(r, "kept_in");
  if (r.value("micro_steps", json()).is_string())
    text += "; micro-steps: " + text_at(r, "micro_steps");
  return wrapped(text + ".", columns, "  ");
}

}  // namespace

std::string traffic_section(const json& r) {
  const json& t = r["traffic"];
  Grid grid(2);
  grid.row({"  verb", "type", "calls", "payload", "textbook", "exact", "sent", "difference"});
  double textbook = 0, exact = 0, sent = 0, calls = 0;
  for (const json& c : t["called"]) {
    grid.row({"  " + c["verb"].get<std::string>(), c["dtype"].get<std::string>(), whole(c["calls"]),
              whole(c["payload_bytes"]), whole(c["textbook_volume_bytes"]),
              whole(c["exact_volume_bytes"]), whole(c["volume_bytes"]),
              difference(c["volume_bytes"], c["exact_volume_bytes"])});
    calls += c["calls"].get<double>();
    textbook +=
        c["textbook_volume_bytes"].is_number() ? c["textbook_volume_bytes"].get<double>() : 0;
    exact += c["exact_volume_bytes"].get<double>();
    sent += c["volume_bytes"].get<double>();
  }
  grid.row({"  all", "", grouped(calls), "", grouped(textbook), grouped(exact), grouped(sent),
            difference(sent, exact)});
  const double n = r["cell"]["ranks"];
  const std::string by_unit =
      gathers_by_unit(r["cell"]["strategy"])
          ? "\n" + wrapped(fmt::format("  {}: {}", text_at(r["cell"], "strategy"),
                                       gathered_by_unit_text),
                           columns, "  ")
          : "";
  return fmt::format("TRAFFIC of rank 0 in a step, bytes\n\n{}", grid.text()) +
         wrapped(fmt::format("  sent: the payload x (N - 1)/N = {}, for an all_reduce twice that; "
                             "f64 is the squared norm.",
                             significant((n - 1) / n, 4)),
                 columns, "  ") +
         "\n" + reduction_text(t) + by_unit + "\n\n" + transport_moved(t) + interface_moved(t);
}

}  // namespace shardmark::explained
