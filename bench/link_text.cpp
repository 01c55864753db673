// How is an emulated link written? See link_text.hpp.
#include "bench/link_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "bench/text.hpp"
#include "kernels/error.hpp"

namespace shardmark {

namespace {

// A unit and how many of the smallest one it is.
struct Unit {
  std::string_view name;
  std::uint64_t size;
};
constexpr std::array<Unit, 5> rates = {{{"bit", 1},
                                        {"kbit", 1'000},
                                        {"mbit", 1'000'000},
                                        {"gbit", 1'000'000'000},
                                        {"tbit", 1'000'000'000'000}}};
constexpr std::array<Unit, 4> times = {
    {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}};

constexpr std::uint64_t least_bits = 1'000, most_bits = 10'000'000'000'000;  // a second
constexpr std::uint64_t most_ns = 10'000'000'000;

struct Quantity {
  double value = 0;
  std::string unit;
};

// "1.5gbit": a number and what follows it, in small letters; none where there is no number.
std::optional<Quantity> quantity(std::string_view text) {
  const std::string all = trimmed(text);
  Quantity q;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), q.value);
  if (error != std::errc() || !std::isfinite(q.value)) return std::nullopt;
  q.unit = trimmed(std::string(end, all.data() + all.size()));
  for (char& c : q.unit)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return q;
}

template <class Units>
std::optional<double> in_smallest(const Quantity& q, const Units& units) {
  for (const Unit& u : units)
    if (u.name == q.unit) return q.value * static_cast<double>(u.size);
  return std::nullopt;
}

bool is_time(std::string_view text) {
  const auto q = quantity(text);
  return q && in_smallest(*q, times);
}

// In the largest unit of which it is at least one: 1,500,000,000 -> "1.5gbit".
template <class Units>
std::string written(std::uint64_t value, const Units& units) {
  const Unit* unit = &units.front();
  for (const Unit& u : units)
    if (value >= u.size) unit = &u;
  std::string text = fmt::to_string(value / unit->size);
  if (const std::uint64_t rest = value % unit->size; rest > 0) {
    // As many digits as the unit has zeros, without those at the end.
    std::string digits = fmt::to_string(rest + unit->size).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    text += "." + digits;
  }
  return text + std::string(unit->name);
}

constexpr const char* may_be =
    "none, or a rate such as 1gbit or 500mbit, with a latency behind it where there is one: "
    "10gbit,50us";

struct Parts {
  std::uint64_t bits = 0, latency_ns = 0;  // bits a second
};

Parts parts_of(std::string_view flag, std::string_view text) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("{} is \"{}\", {}", flag, text, why));
  };
  const auto pieces = split(text, ',');
  if (pieces.size() > 2) refuse(fmt::format("but must be {}.", may_be));
  const auto rate = quantity(pieces[0]);
  if (rate && rate->unit.ends_with("bps"))
    refuse("but bps is read as bits by some and as bytes by others; write bits: 1gbit, 500mbit.");
  const auto bits = rate ? in_smallest(*rate, rates) : std::nullopt;
  if (!bits) refuse(fmt::format("but must be {}.", may_be));
  if (!(*bits >= static_cast<double>(least_bits) && *bits <= static_cast<double>(most_bits)))
    refuse(fmt::format("but a rate must be from {} to {}.", written(least_bits, rates),
                       written(most_bits, rates)));
  Parts parts{static_cast<std::uint64_t>(std::llround(*bits)), 0};
  if (pieces.size() < 2) return parts;
  const auto latency = quantity(pieces[1]);
  const auto ns = latency ? in_smallest(*latency, times) : std::nullopt;
  if (!ns)
    refuse(fmt::format("whose \"{}\" must be a latency such as 50us or 1ms.", trimmed(pieces[1])));
  if (!(*ns >= 0 && *ns <= static_cast<double>(most_ns)))
    refuse(fmt::format("but a latency must be from 0s to {}.", written(most_ns, times)));
  parts.latency_ns = static_cast<std::uint64_t>(std::llround(*ns));
  return parts;
}

}  // namespace

std::vector<std::string> split_links(std::string_view text) {
  std::vector<std::string> links;
  for (const std::string& piece : split(text, ',')) {
    // Behind a latency no other one can stand: then it is a piece of its own, and is refused.
    const bool open = !links.empty() && links.back() != "none" &&
                      links.back().find(',') == std::string::npos && !is_time(links.back());
    if (open && is_time(piece)) {
      links.back() += "," + piece;
    } else {
      links.push_back(piece);
    }
  }
  return links;
}

std::optional<Link> link_of(std::string_view flag, std::string_view text) {
  if (text == "none") return std::nullopt;
  const Parts parts = parts_of(flag, text);
  return Link{static_cast<double>(parts.bits) / 8e9, static_cast<std::int64_t>(parts.latency_ns)};
}

std::string canonical_link(std::string_view flag, std::string_view text) {
  if (text == "none") return "none";
  const Parts parts = parts_of(flag, text);
  return written(parts.bits, rates) +
         (parts.latency_ns > 0 ? "," + written(parts.latency_ns, times) : "");
}

std::string link_in_words(const std::string& canonical) {
  const std::size_t comma = canonical.find(',');
  return comma == std::string::npos
             ? canonical
             : canonical.substr(0, comma) + " + " + canonical.substr(comma + 1);
}

}  // namespace shardmark
