#pragma once
// What did witnesses outside of the accounting see leave each rank? The transport's own count, and
// the counters of a network interface, whose payload is what is left without the headers.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "impl/train.hpp"

namespace shardmark {

// Ethernet 14 (the kernel counts no preamble and no checksum), IPv4 20, TCP 20, its timestamps 12.
inline constexpr std::uint64_t header_bytes_per_packet = 66;
// Of a step that sends less, what starts and acknowledges it is no small part: nothing is judged.
inline constexpr std::uint64_t judged_volume_bytes = 8'000'000;
inline constexpr double most_payload_over_volume = 1.01;

// One rank, over all counted steps.
struct Sent {
  std::uint64_t bytes = 0, packets = 0;  // everything the interface sent
  std::uint64_t payload = 0;             // bytes without the headers of the packets
  std::uint64_t volume = 0;              // the ledger's, of the same steps
};
std::vector<Sent> sent_through_interface(const TrainingReport&);

// Why the interface is no witness of single ranks; empty: it is one.
std::string no_interface(const Training&, const TrainingReport&);

// The record's "traffic", all of it.
nlohmann::json traffic_section(const Training&, const TrainingReport&);

// {verdict, sentence}: true; false with what differs; null with the reason.
struct Verdict {
  nlohmann::json value;
  std::string reason;
};
Verdict moved_agrees(const Training&, const TrainingReport&);

}  // namespace shardmark
