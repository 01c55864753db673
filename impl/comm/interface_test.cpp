// Do we read the kernel's counters right? A text whose figures are all different, and a datagram
// whose length on the wire is known.
#include "impl/comm/interface.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "kernels/error.hpp"

namespace shardmark {
namespace {

const char* const text =
    "Inter-|   Receive                                   |  Transmit\n"
    " face |bytes packets errs drop fifo frame comp multi|bytes packets errs drop fifo colls\n"
    "    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
    "  eth0:21 22 23 24 25 26 27 28 18446744073709551615 30 31 32 33 34 35 36\n"
    "eth0:1: 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56\n";

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

TEST(Interface, TakesWhatWasSentAndNotWhatCame) {
  EXPECT_EQ(sent_by("lo", text), (InterfaceCounters{9, 10}));
  EXPECT_EQ(sent_by("eth0", text), (InterfaceCounters{18446744073709551615ULL, 30}));
  EXPECT_EQ(sent_by("eth0:1", text), (InterfaceCounters{49, 50}));
}

TEST(Interface, ANameThatIsNotThereIsRefusedWithThoseThatAre) {
  EXPECT_THROW(sent_by("eth1", text), InputError);
  EXPECT_EQ(refusal([] { sent_by("eth1", text); }),
            "--interface: there is no network interface 'eth1' here, only eth0, eth0:1, lo");
  EXPECT_THROW(mtu_of("a-name-longer-than-the-kernel-takes"), InputError);
  EXPECT_FALSE(interface_exists("no-such-thing"));
}

TEST(Interface, ALineThatIsCutIsAnError) {
  EXPECT_THROW(sent_by("lo", "a\nb\nlo: 1 2 3 4 5 6 7 8 9\n"), Error);
  EXPECT_THROW(sent_by("lo", "a\nb\n1 2 3\n"), Error);
}

// One datagram to ourselves; false where this machine has no loopback to send it over.
bool send_datagram(std::size_t bytes) {
  const int from = socket(AF_INET, SOCK_DGRAM, 0), to = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const std::vector<char> message(bytes);
  const bool ok =
      bind(to, generic, length) == 0 && getsockname(to, generic, &length) == 0 &&
      sendto(from, message.data(), bytes, 0, generic, length) == static_cast<ssize_t>(bytes);
  close(from);
  close(to);
  return ok;
}

// Others may use the loopback as well: that only adds, so the smallest of many differences is ours.
TEST(Interface, ADatagramAddsItsBytesAndItsHeaders) {
  constexpr std::size_t bytes = 1000;
  InterfaceCounters least{~0ULL, ~0ULL};
  for (int i = 0; i < 50; ++i) {
    const InterfaceCounters before = sent_by("lo");
    if (!send_datagram(bytes)) GTEST_SKIP() << "no loopback here";
    const InterfaceCounters after = sent_by("lo");
    least.bytes = std::min(least.bytes, after.bytes - before.bytes);
    least.packets = std::min(least.packets, after.packets - before.packets);
  }
  EXPECT_EQ(least.bytes, bytes + 20 + 8);  // IPv4, UDP; the loopback leaves Ethernet's 14 out
  EXPECT_EQ(least.packets, 1u);
}

TEST(Interface, TheLoopbackIsThereAndHasAnMtu) {
  if (!interface_exists("lo")) GTEST_SKIP() << "no loopback here";
  EXPECT_GE(mtu_of("lo"), 1280);  // the least that IPv6 asks of every link
}

}  // namespace
}  // namespace shardmark
