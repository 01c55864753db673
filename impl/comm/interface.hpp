#pragma once
// What did a network interface send? The kernel counts every byte that leaves, whoever sent it:
// a witness of moved bytes that no code of ours can flatter. In the network namespace of this
// process, which is why it reads /proc/self/net and not /sys.
#include <cstdint>
#include <string>

namespace shardmark {

struct InterfaceCounters {
  std::uint64_t bytes = 0;    // whole frames: Ethernet, IP and TCP headers, and acknowledgements
  std::uint64_t packets = 0;  // with segmentation offload, what the kernel hands over in one piece
  bool operator==(const InterfaceCounters&) const = default;
};

std::string host_name();  // of this machine, or of its namespace

bool interface_exists(const std::string& name);

// Since the interface was made. Throws InputError where there is no such interface; the sentence
// names those there are.
InterfaceCounters sent_by(const std::string& name);

// Bytes that one packet may carry behind its Ethernet header. Throws InputError as sent_by.
int mtu_of(const std::string& name);

// The same from the text of /proc/net/dev, for the tests. Throws Error where it is not one.
InterfaceCounters sent_by(const std::string& name, const std::string& proc_net_dev);

}  // namespace shardmark
