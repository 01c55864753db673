#include "chrome_trace.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "trace_events.hpp"

namespace shardmark {
namespace {

using json = nlohmann::ordered_json;

constexpr int steps_thread = 2;  // behind those of the two queues

// One event a line; times from zero on.
class Writer {
 public:
  Writer(const TraceAbout& about, bool for_analyzers, std::size_t ranks, std::int64_t zero)
      : about_(about), for_analyzers_(for_analyzers), ranks_(ranks), zero_(zero) {}
  void rank(std::size_t rank, const RankTrace&);
  std::string text() && { return std::move(text_); }

 private:
  void put(const json& event) { text_ += (text_.empty() ? "\n" : ",\n") + event.dump(); }
  json at(const char* ph, std::size_t rank, int thread, std::int64_t ns) const {
    return {{"ph", ph}, {"pid", rank}, {"tid", thread}, {"ts", microseconds(ns - zero_)}};
  }
  void names(std::size_t rank);
  void steps(std::size_t rank, const std::vector<StepTimes>&);
  void spans(std::size_t rank, int lane, const TracedSteps&);
  void arrows(std::size_t rank, const TracedSteps&);
  void memory(std::size_t rank, const std::vector<MemoryEvent>&);

  const TraceAbout& about_;
  bool for_analyzers_;
  std::size_t ranks_;
  std::int64_t zero_;
  std::uint64_t arrows_ = 0;
  std::string text_;
};

void Writer::rank(std::size_t rank, const RankTrace& r) {
  if (!about_.one_clock) zero_ = r.traced.begin_ns;
  names(rank);
  steps(rank, r.steps);
  for (const int lane : {0, 1}) spans(rank, lane, r.traced);
  arrows(rank, r.traced);
  memory(rank, r.traced.memory);
}

void Writer::names(std::size_t rank) {
  const auto meta = [&](const char* what, int thread, json args) {
    put({{"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", thread}, {"args", std::move(args)}});
  };
  meta("process_name", 0, {{"name", "rank " + std::to_string(rank)}});
  meta("process_sort_index", 0, {{"sort_index", rank}});
  if (!about_.one_clock) meta("process_labels", 0, {{"labels", "a clock of its own"}});
  std::vector<std::pair<int, const char*>> threads = {{steps_thread, "steps"}};
  threads.emplace_back(0, queue_name(0, about_.two_queues));
  if (about_.two_queues) threads.emplace_back(1, queue_name(1, true));
  for (std::size_t i = 0; i < threads.size(); ++i) {
    meta("thread_name", threads[i].first, {{"name", threads[i].second}});
    meta("thread_sort_index", threads[i].first, {{"sort_index", i}});
  }
}

void Writer::steps(std::size_t rank, const std::vector<StepTimes>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepTimes& s = steps[i];
    const int number = about_.first_step + static_cast<int>(i);
    json e = at("X", rank, steps_thread, s.begin_ns);
    e["dur"] = microseconds(s.step_ns);
    e["name"] = for_analyzers_ ? "ProfilerStep#" + std::to_string(number) : step_name(number);
    e["cat"] = for_analyzers_ ? "user_annotation" : "step";
    e["args"] = {{"communication_us", microseconds(s.communication_ns)},
                 {"exposed_us", microseconds(s.exposed_ns)},
                 {"hidden_us", microseconds(s.hidden_ns)},
                 {"other_us", microseconds(s.other_ns)}};
    put(e);
  }
}

void Writer::spans(std::size_t rank, int lane, const TracedSteps& t) {
  std::uint64_t collectives = t.collectives_before;
  for (const Interval& i : t.timeline.lane(lane)) {
    json e = at("X", rank, lane, i.begin_ns);
    e["dur"] = microseconds(i.end_ns - i.begin_ns);
    e["name"] = for_analyzers_ ? kernel_name(i, about_.units) : span_name(i, about_.units);
    e["cat"] = for_analyzers_ ? "kernel" : category(i);
    e["args"] = span_args(i, about_);
    // HolisticTraceAnalysis takes stream 0 and below for the host.
    if (for_analyzers_) e["args"].update({{"device", rank}, {"stream", lane + 1}});
    if (i.collective) e["args"].update(collective_args(*i.collective, ranks_, ++collectives));
    put(e);
  }
}

void Writer::arrows(std::size_t rank, const TracedSteps& t) {
  for (const Arrow& a : arrows_of(t)) {
    // Viewers tie an arrow to the slice that is open at its time: the last moment of the first.
    json from = at("s", rank, a.from_lane, std::max(a.from->begin_ns, a.from->end_ns - 1));
    json to = at("f", rank, a.to_lane, a.to->begin_ns);
    to["bp"] = "e";
    ++arrows_;
    for (json* e : {&from, &to}) {
      e->update({{"id", arrows_}, {"name", "waits for"}, {"cat", "order"}});
      put(*e);
    }
  }
}

void Writer::memory(std::size_t rank, const std::vector<MemoryEvent>& events) {
  std::map<Held, std::uint64_t> held;
  for (const MemoryEvent& e : events) held[{e.tag, e.dtype}] = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    held[{events[i].tag, events[i].dtype}] = events[i].live_bytes;
    if (i + 1 < events.size() && events[i + 1].time_ns == events[i].time_ns) continue;
    json tags = json::object();
    for (const auto& [what, bytes] : held) {
      json& sum = tags[std::string(name(what.first))];
      sum = (sum.is_null() ? 0 : sum.get<std::uint64_t>()) + bytes;
    }
    json e = at("C", rank, 0, events[i].time_ns);
    e["name"] = "bytes held";
    e["args"] = std::move(tags);
    put(e);
  }
}

// What stands in front of the events. HolisticTraceAnalysis looks for the line with "rank": first.
json head(const TraceAbout& about, std::size_t ranks, const std::size_t* rank) {
  json all = json::array();
  for (std::size_t i = 0; i < ranks; ++i) all.push_back(i);
  json distributed = {{"backend", about.backend}};
  if (rank) distributed["rank"] = *rank;
  distributed["world_size"] = ranks;
  distributed["pg_count"] = 1;
  distributed["pg_config"] = json::array({{{"pg_name", group_name},
                                           {"pg_desc", group_description},
                                           {"backend_config", "cpu:" + about.backend},
                                           {"pg_size", ranks},
                                           {"ranks", all}}});
  json other = {
      {"program", about.program},
      {"cell", about.cell},
      {"times", "traced: times are not measurements"},
      {"clocks", about.one_clock ? "one: times of all ranks have one zero"
                                 : "each rank has its own: its times begin at its own zero, and "
                                   "who waited for whom is not known"}};
  if (rank) other["names"] = "nccl names collectives for analyzers; no NCCL was there";
  return {{"distributedInfo", distributed}, {"displayTimeUnit", "ns"}, {"otherData", other}};
}

std::int64_t first_begin(const std::vector<RankTrace>& ranks) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const RankTrace& r : ranks) first = std::min(first, r.traced.begin_ns);
  return first;
}

std::string file(const json& front, const std::string& events) {
  const std::string text = front.dump(1);  // ends with "\n}"
  return text.substr(0, text.size() - 2) + ",\n \"traceEvents\": [" + events + "\n ]\n}\n";
}

}  // namespace

std::string chrome_trace(const std::vector<RankTrace>& ranks, const TraceAbout& about) {
  Writer w(about, false, ranks.size(), first_begin(ranks));
  for (std::size_t i = 0; i < ranks.size(); ++i) w.rank(i, ranks[i]);
  return file(head(about, ranks.size(), nullptr), std::move(w).text());
}

std::string analyzer_trace(const std::vector<RankTrace>& ranks, std::size_t rank,
                           const TraceAbout& about) {
  Writer w(about, true, ranks.size(), first_begin(ranks));
  w.rank(rank, ranks[rank]);
  return file(head(about, ranks.size(), &rank), std::move(w).text());
}

}  // namespace shardmark
