// What is one measurement of collectives, as JSON and by name? See collectives_cell.hpp.
#include "bench/collectives_cell.hpp"

#include <fmt/format.h>

#include "bench/link_text.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

// Every field once, under its key: what writes and reads a cell goes through here.
template <class C, class F>
void each_field(C& c, F&& field) {
  field("comm", c.comm);
  field("ranks", c.ranks);
  field("link", c.link);
  field("collectives", c.collectives);
  field("verbs", c.verbs);
  field("sizes_bytes", c.sizes_bytes);
  field("repeats", c.repeats);
  field("warmup", c.warmup);
  field("seed", c.seed);
  field("timeout_s", c.timeout_s);
  field("comm_timeout_s", c.comm_timeout_s);
  field("launcher", c.launcher);
  field("network", c.network);
}

void check(bool ok, const char* key, const std::string& must_be) {
  if (!ok)
    throw InputError(fmt::format("a cell's \"{}\" of collectives must be {}.", key, must_be));
}

// A file is not typed by flags, so nobody has looked at its values yet.
void check_values(const CollectivesCell& c) {
  check(c.ranks >= 1 && c.ranks <= 256, "ranks", "from 1 to 256");
  check(c.repeats >= 1 && c.repeats <= 10'000, "repeats", "from 1 to 10000");
  check(c.warmup >= 1 && c.warmup <= 10'000, "warmup", "from 1 to 10000");
  check(c.timeout_s > 0 && c.comm_timeout_s > 0, "timeout_s", "above 0, and comm_timeout_s too");
  check(c.comm == "thread" || c.comm == "mpi", "comm", "thread or mpi");
  check(!c.verbs.empty() && !c.collectives.empty(), "verbs", "at least one, and collectives too");
  check(!c.sizes_bytes.empty(), "sizes_bytes", "at least one");
  for (std::size_t i = 0; i < c.sizes_bytes.size(); ++i)
    check(c.sizes_bytes[i] >= 4 && c.sizes_bytes[i] <= most_collective_bytes &&
              c.sizes_bytes[i] % 4 == 0 && (i == 0 || c.sizes_bytes[i - 1] < c.sizes_bytes[i]),
          "sizes_bytes", "rising multiples of 4 up to 1 GiB");
  (void)link_of("a cell's \"link\"", c.link);
  for (const std::string& verb : c.verbs) (void)verb_named(verb);
  const auto possible = possible_collectives(c.comm, c.link);
  for (const std::string& name : c.collectives)
    check(std::find(possible.begin(), possible.end(), name) != possible.end(), "collectives",
          fmt::format("of {} with comm {} and link {}", join(possible, ", "), c.comm, c.link));
}

}  // namespace

std::string id_of(const CollectivesCell& c) {
  std::string id = fmt::format("collectives/{}/n{}", c.comm, c.ranks);
  if (c.link != "none") id += "/link-" + c.link;
  return id;
}

json to_json(const CollectivesCell& c) {
  json out = {{"kind", "collectives"}, {"id", id_of(c)}};
  each_field(c, [&](const char* key, const auto& value) { out[key] = value; });
  return out;
}

bool is_collectives_cell(const json& cell) {
  return cell.is_object() && cell.value("kind", json()) == "collectives";
}

CollectivesCell collectives_cell_from_json(const json& in) {
  CollectivesCell c;
  const auto wrong = [](const std::string& key, const char* what) {
    return InputError(fmt::format("a cell of collectives {} \"{}\".", what, key));
  };
  each_field(c, [&](const char* key, auto& value) {
    if (!in.contains(key)) throw wrong(key, "lacks the key");
    try {
      in[key].get_to(value);
    } catch (const json::exception&) {
      throw wrong(key, "has a value of the wrong type under");
    }
  });
  // JSON's own conversions would make 1.5 ranks 1: what comes out again must be what went in.
  const json again = to_json(c);
  for (const auto& [key, value] : in.items()) {
    if (!again.contains(key)) throw wrong(key, "has the unknown key");
    if (again[key] != value && key != "id") throw wrong(key, "has a value of the wrong type under");
  }
  check_values(c);
  return c;
}

std::int64_t timed_calls(std::int64_t repeats, std::uint64_t size_bytes) {
  constexpr std::uint64_t kib = 1024, mib = 1024 * kib;
  return repeats * (size_bytes >= 16 * mib   ? 1
                    : size_bytes >= mib      ? 2
                    : size_bytes >= 64 * kib ? 4
                                             : 8);
}

std::vector<std::string> possible_collectives(const std::string& comm, const std::string& link) {
  if (link != "none") return {"ring"};
  if (comm == "mpi") return {"ring", "library"};
  return {"memory", "ring"};
}

const std::vector<std::string>& collective_verbs() {
  static const std::vector<std::string> names = {"reduce_scatter", "all_gather", "all_reduce"};
  return names;
}

Verb verb_named(const std::string& name) {
  if (name == "all_reduce") return Verb::all_reduce;
  if (name == "reduce_scatter") return Verb::reduce_scatter;
  if (name == "all_gather") return Verb::all_gather;
  throw InputError(fmt::format("verb \"{}\" is unknown; it may be all, {}{}", name,
                               join(collective_verbs(), ", "),
                               suggestion(name, collective_verbs())));
}

Collectives collectives_named(const std::string& name) {
  if (name == "memory") return Collectives::memory;
  if (name == "ring") return Collectives::ring;
  if (name == "library") return Collectives::library;
  if (name == "nccl") return Collectives::nccl;
  throw InputError(
      fmt::format("collectives \"{}\" are unknown; they may be memory, ring, library or nccl{}",
                  name, suggestion(name, {"memory", "ring", "library", "nccl"})));
}

std::size_t elements_of(Verb verb, std::uint64_t size_bytes, std::int64_t ranks) {
  const std::size_t elements = size_bytes / size_of(DType::f32);
  if (verb == Verb::all_reduce) return elements;
  const auto n = static_cast<std::size_t>(ranks);
  return (elements + n - 1) / n * n;
}

}  // namespace shardmark
