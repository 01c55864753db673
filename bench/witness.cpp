// What did witnesses outside of the accounting see leave each rank? See witness.hpp.
#include "bench/witness.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "bench/self_checks.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

constexpr const char* nobody = "nothing outside of the accounting counted";

std::uint64_t volume_of(const TrafficLedger& step) {
  std::uint64_t total = 0;
  for (const auto& [what, traffic] : step) total += traffic.volume;
  return total;
}

json called_of(Called what, const TrainingReport& r) {
  json out = {{"verb", name(what.first)}, {"dtype", name(what.second)}};
  const auto textbook = r.claims.textbook_calls.find(what);
  if (textbook != r.claims.textbook_calls.end()) {
    out["textbook_payload_bytes"] = textbook->second.payload;
    out["textbook_volume_bytes"] = textbook->second.volume;
  } else {
    set_missing(out, "textbook_payload_bytes", "the textbook has no such call");
    set_missing(out, "textbook_volume_bytes", "the textbook has no such call");
  }
  const auto find = [&](const TrafficLedger& in) {
    const auto it = in.find(what);
    return it == in.end() ? Traffic{} : it->second;
  };
  const Traffic exact = find(r.claims.exact_calls);
  const Traffic last = find(r.ranks[0].traffic_by_step.back());
  out["exact_calls"] = exact.calls;
  out["exact_payload_bytes"] = exact.payload;
  out["exact_volume_bytes"] = exact.volume;
  out["calls"] = last.calls;
  out["payload_bytes"] = last.payload;
  out["volume_bytes"] = last.volume;
  return out;
}

void add_interface(json& out, const Training& t, const TrainingReport& r) {
  // Ranks that share a host are shown as well: the sums are right, who sent them is not known.
  if (t.interface.empty() || r.ranks[0].counted.empty()) {
    set_missing(out, "interface", no_interface(t, r));
    return;
  }
  json by_rank = json::array();
  for (const Sent& s : sent_through_interface(r))
    by_rank.push_back({{"bytes", s.bytes},
                       {"packets", s.packets},
                       {"payload_bytes", s.payload},
                       {"volume_bytes", s.volume}});
  out["interface"] = {{"name", t.interface},
                      {"header_bytes_per_packet", header_bytes_per_packet},
                      {"steps", r.ranks[0].counted.size()},
                      {"by_rank", by_rank}};
  if (r.ranks[0].interface_mtu > 0) {
    out["interface"]["mtu"] = r.ranks[0].interface_mtu;
  } else {
    set_missing(out["interface"], "mtu", "the system does not say it");
  }
}

// Of all ranks together, by the witness that is furthest from the accounting.
void add_moved_over_volume(json& out, const Training& t, const TrainingReport& r) {
  double moved = 0, volume = 0;
  std::string witness;
  if (no_interface(t, r).empty()) {
    witness = "interface";
    for (const Sent& s : sent_through_interface(r)) {
      moved += static_cast<double>(s.payload);
      volume += static_cast<double>(s.volume);
    }
  } else if (!r.ranks[0].moved_witness.empty()) {
    witness = "transport";
    for (const RankReport& rank : r.ranks) {
      moved += static_cast<double>(rank.moved_bytes);
      volume += static_cast<double>(total_volume(rank));
    }
  }
  const char* why = witness.empty() ? nobody : "nothing was to be sent";
  if (volume > 0) {
    out["moved_over_volume"] = moved / volume;
    out["moved_over_volume_witness"] = witness;
  } else {
    set_missing(out, "moved_over_volume", why);
    set_missing(out, "moved_over_volume_witness", why);
  }
}

std::string transport_differs(const TrainingReport& r) {
  for (std::size_t rank = 0; rank < r.ranks.size(); ++rank)
    if (const std::uint64_t volume = total_volume(r.ranks[rank]);
        r.ranks[rank].moved_bytes != volume)
      return fmt::format("{} bytes left rank {} where its ledger says {}",
                         r.ranks[rank].moved_bytes, rank, volume);
  return "";
}

std::string interface_differs(const TrainingReport& r) {
  const std::vector<Sent> sent = sent_through_interface(r);
  for (std::size_t rank = 0; rank < sent.size(); ++rank) {
    const double ratio =
        static_cast<double>(sent[rank].payload) / static_cast<double>(sent[rank].volume);
    if (!(ratio >= 1 && ratio <= most_payload_over_volume))
      return fmt::format(
          "the interface of rank {} sent {} bytes without headers where its ledger says {}: {:.4f} "
          "of them, but 1.00 to {:.2f} were expected; beside bytes that were not to be sent, it "
          "may "
          "be that the host has more than one network card, or that its packets are of IPv6, whose "
          "headers are larger",
          rank, sent[rank].payload, sent[rank].volume, ratio, most_payload_over_volume);
  }
  return "";
}

// Why the interface is not judged; empty: it is.
std::string not_judged(const Training& t, const TrainingReport& r) {
  if (const std::string why = no_interface(t, r); !why.empty()) return why;
  for (const Sent& s : sent_through_interface(r))
    if (s.volume < judged_volume_bytes * r.ranks[0].counted.size())
      return fmt::format(
          "an interface is judged where a step sends at least {}; of a smaller one, what is sent "
          "beside it is no small part",
          with_unit(static_cast<double>(judged_volume_bytes), "B"));
  return "";
}

}  // namespace

std::vector<Sent> sent_through_interface(const TrainingReport& r) {
  std::vector<Sent> all;
  for (const RankReport& rank : r.ranks) {
    Sent& s = all.emplace_back();
    for (const auto& c : rank.counted) {
      s.bytes += c.bytes;
      s.packets += c.packets;
    }
    const std::uint64_t headers = s.packets * header_bytes_per_packet;
    s.payload = s.bytes > headers ? s.bytes - headers : 0;
    // Every step sends the same (the check traffic_exact holds it to that).
    if (!rank.traffic_by_step.empty())
      s.volume = volume_of(rank.traffic_by_step.back()) * rank.counted.size();
  }
  return all;
}

std::string no_interface(const Training& t, const TrainingReport& r) {
  if (t.interface.empty()) return "no --interface was named";
  std::set<std::string> hosts;
  for (const RankReport& rank : r.ranks) {
    if (rank.counted.empty() || rank.counted.size() != r.ranks[0].counted.size())
      return "the interface's counters were not read around steps";
    hosts.insert(rank.host);
  }
  if (hosts.size() < r.ranks.size())
    return "ranks share a host, so that its interface counts what several of them send, and not "
           "what they send to each other";
  return "";
}

json traffic_section(const Training& t, const TrainingReport& r) {
  std::set<Called> all;
  for (const auto& [what, traffic] : r.claims.exact_calls) all.insert(what);
  for (const auto& [what, traffic] : r.claims.textbook_calls) all.insert(what);
  for (const auto& [what, traffic] : r.ranks[0].traffic_by_step.back()) all.insert(what);
  json called = json::array(), volume = json::array(), moved = json::array();
  for (const Called& what : all) called.push_back(called_of(what, r));
  for (const RankReport& rank : r.ranks) {
    volume.push_back(total_volume(rank));
    moved.push_back(rank.moved_bytes);
  }
  json out = {{"called", called},
              {"total_steps", r.ranks[0].traffic_by_step.size()},
              {"total_volume_bytes", volume}};
  if (r.ranks[0].moved_witness.empty()) {
    set_missing(out, "moved_bytes", nobody);
    set_missing(out, "moved_witness", nobody);
  } else {
    out["moved_bytes"] = moved;
    out["moved_witness"] = r.ranks[0].moved_witness;
  }
  add_interface(out, t, r);
  add_moved_over_volume(out, t, r);
  return out;
}

Verdict moved_agrees(const Training& t, const TrainingReport& r) {
  const bool transport = !r.ranks[0].moved_witness.empty();
  if (transport)
    if (const std::string differs = transport_differs(r); !differs.empty()) return {false, differs};
  const std::string why_not = not_judged(t, r);
  if (why_not.empty())
    if (const std::string differs = interface_differs(r); !differs.empty()) return {false, differs};
  if (transport || why_not.empty()) return {true, ""};
  return {nullptr, t.interface.empty() ? nobody : why_not};
}

}  // namespace shardmark
