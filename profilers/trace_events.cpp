#include "trace_events.hpp"

#include <algorithm>

namespace shardmark {
namespace {

using json = nlohmann::ordered_json;

// What PyTorch calls an element type.
const char* torch_name(DType t) {
  switch (t) {
    case DType::f64:
      return "Double";
    case DType::f32:
      return "Float";
    case DType::bf16:
      return "BFloat16";
    case DType::f16:
      return "Half";
    case DType::i32:
      return "Int";
    case DType::u8:
      return "Byte";
  }
  return "";
}

struct TorchVerb {
  const char *collective, *kernel;
  bool cuts_in, cuts_out;  // a rank gives, or gets, its part alone
};

// One flat array a rank: of the verbs for several of them, those are the ones.
TorchVerb torch_verb(Verb v) {
  switch (v) {
    case Verb::all_reduce:
      return {"allreduce", "AllReduce", false, false};
    case Verb::reduce_scatter:
      return {"_reduce_scatter_base", "ReduceScatter", false, true};
    case Verb::all_gather:
      return {"_allgather_base", "AllGather", true, false};
    case Verb::broadcast:
      return {"broadcast", "Broadcast", false, false};
    case Verb::barrier:
      return {"barrier", "AllReduce", false, false};
  }
  return {};
}

bool is_of_unit(Phase p) { return p <= Phase::backward; }
bool is_labelled(const Interval& i) { return i.label != no_label && i.phase != Phase::clip; }

std::string unit_name(const Interval& i, const std::vector<std::string>& units) {
  const auto number = static_cast<std::size_t>(i.label);
  return number < units.size() ? units[number] : "unit " + std::to_string(i.label);
}

}  // namespace

double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

const char* queue_name(int lane, bool two_queues) {
  if (!two_queues) return "compute and communication";
  return lane == 0 ? "compute" : "communication";
}

const char* category(const Interval& i) {
  return is_communication(i.phase) ? "communication" : "compute";
}

std::string step_name(int step) { return "step " + std::to_string(step); }

std::string span_name(const Interval& i, const std::vector<std::string>& units) {
  const std::string what(i.collective ? name(i.collective->verb) : name(i.phase));
  if (!is_labelled(i)) return what;
  return what + " " +
         (is_of_unit(i.phase) ? unit_name(i, units) : "segment " + std::to_string(i.label));
}

std::string kernel_name(const Interval& i, const std::vector<std::string>& units) {
  if (!i.collective) return span_name(i, units);
  return std::string("ncclDevKernel_") + torch_verb(i.collective->verb).kernel;
}

json span_args(const Interval& i, const TraceAbout& about) {
  json args = {{"phase", name(i.phase)}, {"step", i.step}};
  if (is_labelled(i) && is_of_unit(i.phase)) args["unit"] = unit_name(i, about.units);
  if (is_labelled(i) && !is_of_unit(i.phase)) args["segment"] = i.label;
  if (!i.collective) return args;
  args["bytes"] = i.collective->bytes();
  if (!about.one_clock) return args;
  args["skew_us"] = microseconds(i.skew_ns);
  if (i.transfer_ns >= 0) args["transfer_us"] = microseconds(i.transfer_ns);
  return args;
}

json collective_args(const Collective& c, std::size_t ranks, std::uint64_t number) {
  const TorchVerb verb = torch_verb(c.verb);
  std::string all;
  for (std::size_t i = 0; i < ranks; ++i) all += (i == 0 ? "" : ", ") + std::to_string(i);
  return {{"Collective name", verb.collective},
          {"dtype", torch_name(c.dtype)},
          {"In msg nelems", verb.cuts_in ? c.elements / ranks : c.elements},
          {"Out msg nelems", verb.cuts_out ? c.elements / ranks : c.elements},
          {"In split size", "[]"},
          {"Out split size", "[]"},
          {"Group size", ranks},
          {"Process Group Name", group_name},
          {"Process Group Description", group_description},
          {"Process Group Ranks", "[" + all + "]"},
          {"Global rank start", 0},
          {"Global rank stride", 1},
          {"Seq", number}};
}

std::vector<Arrow> arrows_of(const TracedSteps& t) {
  std::vector<Arrow> out;
  // By what waits, computing or communicating, and by lane: the tickets it has waited for already.
  std::array<std::array<std::uint64_t, 2>, 2> seen{t.before, t.before};
  for (const int lane : {0, 1})
    for (const Interval& to : t.timeline.lane(lane)) {
      const bool communicates = is_communication(to.phase);
      for (const int from_lane : {0, 1}) {
        const auto l = static_cast<std::size_t>(from_lane);
        std::uint64_t& ticket = seen[communicates][l];
        const std::vector<Interval>& others = t.timeline.lane(from_lane);
        std::vector<Arrow> found;
        for (; ticket < to.after[l]; ++ticket)
          if (const auto at = ticket - t.before[l]; at < others.size())
            if (is_communication(others[at].phase) != communicates)
              found.push_back({from_lane, lane, &others[at], &to});
        if (communicates && found.size() > 1) found.erase(found.begin(), found.end() - 1);
        out.insert(out.end(), found.begin(), found.end());
      }
    }
  return out;
}

}  // namespace shardmark
