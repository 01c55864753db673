// Is an emulated link read as it is meant, written in one way only, and refused where it is none?
#include "bench/link_text.hpp"

#include <gtest/gtest.h>

#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using testing::refused;
using Strings = std::vector<std::string>;

std::string refusal(const std::string& text) {
  return refused([&] { link_of("--link", text); });
}

TEST(link_text, a_gigabit_is_an_eighth_of_a_byte_a_nanosecond) {
  EXPECT_EQ(link_of("--link", "1gbit"), (Link{0.125, 0}));
  EXPECT_EQ(link_of("--link", "10gbit,50us"), (Link{1.25, 50'000}));
  EXPECT_EQ(link_of("--link", "1.5Gbit,0.5ms"), (Link{0.1875, 500'000}));
  EXPECT_EQ(link_of("--link", "8kbit,1s"), (Link{1e-6, 1'000'000'000}));
  EXPECT_EQ(link_of("--link", "none"), std::nullopt);
}

TEST(link_text, one_link_has_one_text) {
  for (const auto& [typed, canonical] :
       {std::pair("1500mbit", "1.5gbit"), std::pair("1.5gbit", "1.5gbit"),
        std::pair("1000mbit,1000us", "1gbit,1ms"), std::pair("1gbit,0us", "1gbit"),
        std::pair("2.5e3mbit, 0.05ms", "2.5gbit,50us"), std::pair("100MBIT", "100mbit"),
        std::pair("1000000001bit", "1.000000001gbit"), std::pair("1gbit,1500ns", "1gbit,1.5us"),
        std::pair("none", "none")}) {
    EXPECT_EQ(canonical_link("--link", typed), canonical);
    EXPECT_EQ(canonical_link("--link", canonical), canonical);
    EXPECT_EQ(link_of("--link", canonical), link_of("--link", typed));
  }
}

TEST(link_text, a_time_in_a_list_belongs_to_the_rate_before_it) {
  EXPECT_EQ(split_links("none,1gbit,10gbit,50us"), (Strings{"none", "1gbit", "10gbit,50us"}));
  EXPECT_EQ(split_links("1gbit,1ms,1gbit,2ms,none"), (Strings{"1gbit,1ms", "1gbit,2ms", "none"}));
  // What cannot belong stays apart, and is refused by itself.
  EXPECT_EQ(split_links("50us,1gbit"), (Strings{"50us", "1gbit"}));
  EXPECT_EQ(split_links("none,50us"), (Strings{"none", "50us"}));
  EXPECT_EQ(split_links("1gbit,1ms,2ms"), (Strings{"1gbit,1ms", "2ms"}));
}

TEST(link_text, what_is_no_link_is_refused_with_what_would_be_one) {
  const std::string may_be =
      "but must be none, or a rate such as 1gbit or 500mbit, with a latency behind it where there "
      "is one: 10gbit,50us.";
  for (const char* wrong : {"fast", "", "1", "1gb", "50us", "gbit", "1gbit,1us,1us", "nangbit"})
    EXPECT_EQ(refusal(wrong), std::string("--link is \"") + wrong + "\", " + may_be);
  EXPECT_EQ(refusal("1gbps"),
            "--link is \"1gbps\", but bps is read as bits by some and as bytes by others; write "
            "bits: 1gbit, 500mbit.");
  EXPECT_EQ(refusal("1gbit,fast"),
            "--link is \"1gbit,fast\", whose \"fast\" must be a latency such as 50us or 1ms.");
  for (const char* wrong : {"0gbit", "-1gbit", "999bit", "11tbit"})
    EXPECT_EQ(refusal(wrong),
              std::string("--link is \"") + wrong + "\", but a rate must be from 1kbit to 10tbit.");
  for (const char* wrong : {"1gbit,-1us", "1gbit,11s"})
    EXPECT_EQ(refusal(wrong),
              std::string("--link is \"") + wrong + "\", but a latency must be from 0s to 10s.");
}

TEST(link_text, for_people) {
  EXPECT_EQ(link_in_words("10gbit,50us"), "10gbit + 50us");
  EXPECT_EQ(link_in_words("1gbit"), "1gbit");
}

}  // namespace
}  // namespace shardmark
