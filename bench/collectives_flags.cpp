// Which measurements of collectives do flags mean? See collectives_cell.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "bench/cell.hpp"
#include "bench/collectives_cell.hpp"
#include "bench/link_text.hpp"
#include "bench/text.hpp"
#include "impl/comm/mpi.hpp"

namespace shardmark {

namespace {

std::vector<std::string> pieces_of(const std::string& flag, const std::string& text) {
  std::vector<std::string> pieces = split(text, ',');
  for (std::string& piece : pieces) {
    piece = trimmed(piece);
    if (piece.empty())
      throw InputError(fmt::format("{} is \"{}\", which has an empty entry.", flag, text));
  }
  return pieces;
}

std::vector<std::string> without_repetition(const std::vector<std::string>& all) {
  std::vector<std::string> once;
  for (const std::string& one : all)
    if (std::find(once.begin(), once.end(), one) == once.end()) once.push_back(one);
  return once;
}

std::vector<std::string> known_pieces(const std::string& flag, const std::string& text,
                                      const std::vector<std::string>& known) {
  const auto pieces = without_repetition(pieces_of(flag, text));
  for (const std::string& piece : pieces)
    if (std::find(known.begin(), known.end(), piece) == known.end())
      throw InputError(fmt::format("{} \"{}\" is unknown; it may be {}{}", flag, piece,
                                   join(known, ", "), suggestion(piece, known)));
  return pieces;
}

std::uint64_t one_size(const std::string& flag, const std::string& text) {
  const std::uint64_t bytes = byte_count(flag, text);
  if (bytes < 4 || bytes % 4 != 0 || bytes > most_collective_bytes)
    throw InputError(fmt::format(
        "{} is \"{}\", but must be a multiple of 4 bytes (arrays are f32) from 4B to 1GiB.", flag,
        text));
  return bytes;
}

class Flags {
 public:
  explicit Flags(const CollectivesFlags& given) : given_(given) {}
  bool has(const std::string& flag) const { return given_.count(flag) > 0; }
  std::string text(const std::string& flag, const std::string& otherwise) const {
    const auto it = given_.find(flag);
    return it == given_.end() ? otherwise : it->second;
  }
  std::int64_t whole(const std::string& flag, std::int64_t otherwise, std::int64_t least,
                     std::int64_t most) const {
    return has(flag) ? whole_number(flag, given_.at(flag), least, most) : otherwise;
  }
  double seconds(const std::string& flag, double otherwise) const {
    return has(flag) ? real_number(flag, given_.at(flag), 0, 1e6, true) : otherwise;
  }

 private:
  const CollectivesFlags& given_;
};

std::vector<std::string> verbs_in(const Flags& flags) {
  const std::string text = flags.text("--verb", "all");
  if (text == "all") return collective_verbs();
  auto known = collective_verbs();
  known.insert(known.begin(), "all");
  const auto given = known_pieces("--verb", text, known);
  std::vector<std::string> verbs;  // in the order in which a step needs them
  for (const std::string& verb : collective_verbs())
    if (std::find(given.begin(), given.end(), verb) != given.end() ||
        std::find(given.begin(), given.end(), "all") != given.end())
      verbs.push_back(verb);
  return verbs;
}

std::vector<std::string> comms_in(const Flags& flags) {
  const std::string usual = mpi::launched() ? "mpi" : mpi::built() ? "thread,mpi" : "thread";
  const auto comms = known_pieces("--comm", flags.text("--comm", usual), {"thread", "mpi"});
  const bool has_mpi = std::find(comms.begin(), comms.end(), "mpi") != comms.end();
  if (has_mpi && !mpi::built())
    throw InputError(
        fmt::format("--comm mpi needs MPI, which this build lacks: {}.", mpi::library()));
  if (!has_mpi && flags.has("--launcher"))
    throw InputError("--launcher starts MPI ranks; give --comm mpi with it.");
  return comms;
}

// Of the named algorithms those that this communicator can run on this link.
std::vector<std::string> algorithms_for(const Flags& flags, const std::string& comm,
                                        const std::string& link, bool or_none = false) {
  const auto possible = possible_collectives(comm, link);
  if (!flags.has("--collectives")) return possible;
  const auto named =
      known_pieces("--collectives", flags.text("--collectives", ""), {"memory", "ring", "library"});
  std::vector<std::string> both;
  for (const std::string& one : possible)
    if (std::find(named.begin(), named.end(), one) != named.end()) both.push_back(one);
  if (both.empty() && !or_none)
    throw InputError(
        fmt::format("--collectives \"{}\" cannot run with --comm {} and --link {}: "
                    "give {}.",
                    join(named, ","), comm, link, join(possible, " or ")));
  return both;
}

// Where nobody named communicators: those that can run a named algorithm on some link, or all.
std::vector<std::string> able_comms(const Flags& flags, const std::vector<std::string>& links) {
  const std::vector<std::string> comms = comms_in(flags);
  if (flags.has("--comm")) return comms;
  std::vector<std::string> able;
  for (const std::string& comm : comms)
    if (std::any_of(links.begin(), links.end(), [&](const std::string& link) {
          return !algorithms_for(flags, comm, link, true).empty();
        }))
      able.push_back(comm);
  return able.empty() ? comms : able;
}

// What a training's --launcher and --network must be, these must be too.
void check_launcher(const Flags& flags, const CollectivesCell& c) {
  if (flags.has("--launcher")) check_typed_launcher(flags.text("--launcher", ""));
  Cell how;
  how.comm = c.comm;
  how.launcher = c.launcher;
  how.network = c.network;
  check_launch(how);
}

// A name that no cell can use would be dropped in silence.
void refuse_unused(const Flags& flags, const std::vector<CollectivesCell>& cells) {
  if (!flags.has("--collectives")) return;
  for (const std::string& named : pieces_of("--collectives", flags.text("--collectives", ""))) {
    const bool used = std::any_of(cells.begin(), cells.end(), [&](const CollectivesCell& c) {
      return std::find(c.collectives.begin(), c.collectives.end(), named) != c.collectives.end();
    });
    if (!used)
      throw InputError(fmt::format("--collectives {} needs --comm {} and --link none.", named,
                                   named == "library" ? "mpi" : "thread"));
  }
}

}  // namespace

std::vector<std::uint64_t> sizes_in(const std::string& flag, const std::string& text) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& piece : pieces_of(flag, text)) {
    const std::size_t dots = piece.find("..");
    const std::uint64_t first = one_size(flag, piece.substr(0, dots));
    const std::uint64_t last = dots == piece.npos ? first : one_size(flag, piece.substr(dots + 2));
    if (last < first)
      throw InputError(
          fmt::format("{} is \"{}\", but a range goes from small to large.", flag, piece));
    for (std::uint64_t size = first; size < last; size *= 4) sizes.push_back(size);
    sizes.push_back(last);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::vector<CollectivesCell> collectives_cells(const CollectivesFlags& given) {
  const Flags flags(given);
  CollectivesCell all;
  all.verbs = verbs_in(flags);
  all.sizes_bytes = sizes_in("--size", flags.text("--size", "4B..64MiB"));
  all.repeats = flags.whole("--repeats", all.repeats, 1, 10'000);
  all.seed = static_cast<std::uint64_t>(flags.whole("--seed", 1, 0, INT64_MAX));
  all.timeout_s = flags.seconds("--timeout", all.timeout_s);
  all.comm_timeout_s = flags.seconds("--comm-timeout", all.comm_timeout_s);
  all.network = flags.text("--network", "");
  std::vector<std::int64_t> ranks;
  for (const std::string& n : pieces_of("--ranks", flags.text("--ranks", "2,4")))
    if (const auto r = whole_number("--ranks", n, 1, 256);
        std::find(ranks.begin(), ranks.end(), r) == ranks.end())
      ranks.push_back(r);
  std::vector<std::string> links;
  for (const std::string& link : split_links(flags.text("--link", "none")))
    links.push_back(canonical_link("--link", link));
  std::vector<CollectivesCell> cells;
  links = without_repetition(links);
  for (const std::string& comm : able_comms(flags, links))
    for (const std::string& link : links)
      for (const std::int64_t n : ranks) {
        CollectivesCell c = all;
        c.comm = comm;
        c.ranks = n;
        c.link = link;
        c.collectives = algorithms_for(flags, comm, link);
        c.launcher = comm == "mpi" ? flags.text("--launcher", "mpirun") : "none";
        check_launcher(flags, c);
        cells.push_back(std::move(c));
      }
  refuse_unused(flags, cells);
  return cells;
}

}  // namespace shardmark
