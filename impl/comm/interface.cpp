#include "impl/comm/interface.hpp"

#include <fmt/format.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "kernels/error.hpp"

namespace shardmark {
namespace {

constexpr const char* source = "/proc/self/net/dev";

// Two lines of head, then "name: rx_bytes rx_packets ... (8 figures) tx_bytes tx_packets ...".
std::map<std::string, InterfaceCounters> parse(const std::string& text) {
  std::map<std::string, InterfaceCounters> found;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const std::size_t colon = line.rfind(':');  // an alias as in eth0:1 has one in its name
    const std::size_t start = line.find_first_not_of(' ');
    if (colon == std::string::npos || start >= colon)
      throw Error(fmt::format("{}: a line without the name of an interface: {}", source, line));
    std::istringstream figures(line.substr(colon + 1));
    std::uint64_t received = 0;
    for (int i = 0; i < 8; ++i) figures >> received;
    InterfaceCounters c;
    figures >> c.bytes >> c.packets;
    if (!figures)
      throw Error(fmt::format("{}: a line with fewer than 10 figures: {}", source, line));
    found[line.substr(start, colon - start)] = c;
  }
  return found;
}

std::string read_source() {
  std::ifstream file(source);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) throw Error(fmt::format("{} cannot be read.", source));
  return text.str();
}

[[noreturn]] void refuse(const std::string& name,
                         const std::map<std::string, InterfaceCounters>& found) {
  std::string names;
  for (const auto& [there, counters] : found) names += (names.empty() ? "" : ", ") + there;
  throw InputError(fmt::format("--interface: there is no network interface '{}' here, only {}",
                               name, names.empty() ? "none" : names));
}

InterfaceCounters pick(const std::string& name,
                       const std::map<std::string, InterfaceCounters>& found) {
  const auto at = found.find(name);
  if (at == found.end()) refuse(name, found);
  return at->second;
}

}  // namespace

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

bool interface_exists(const std::string& name) { return parse(read_source()).count(name) > 0; }

InterfaceCounters sent_by(const std::string& name) { return pick(name, parse(read_source())); }

InterfaceCounters sent_by(const std::string& name, const std::string& proc_net_dev) {
  return pick(name, parse(proc_net_dev));
}

int mtu_of(const std::string& name) {
  pick(name, parse(read_source()));  // a name that is not there, or too long for the kernel
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0)
    throw Error(fmt::format("No socket to ask for the MTU of {}: {}.", name, strerror(errno)));
  const int rc = ::ioctl(socket, SIOCGIFMTU, &request);
  const int error = errno;
  ::close(socket);
  if (rc != 0) throw Error(fmt::format("The MTU of {} is unknown: {}.", name, strerror(error)));
  return request.ifr_mtu;
}

}  // namespace shardmark
