#pragma once
// How is an emulated link written: 1gbit, 500mbit, 10gbit,50us? A rate counts bits a second in
// decimal units, as network cards and `tc` do; the latency behind it is what each message travels
// on top.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "impl/comm/link.hpp"

namespace shardmark {

// A list of links: a piece that is a time belongs to the rate before it, so that
// "none,1gbit,10gbit,50us" are three.
std::vector<std::string> split_links(std::string_view text);

// "none" is no link. Throws InputError.
std::optional<Link> link_of(std::string_view flag, std::string_view text);
// The one way in which this link is written: 1500mbit,1000us becomes 1.5gbit,1ms. Throws
// InputError.
std::string canonical_link(std::string_view flag, std::string_view text);

// "10gbit,50us" -> "10gbit + 50us", for people.
std::string link_in_words(const std::string& canonical);

}  // namespace shardmark
