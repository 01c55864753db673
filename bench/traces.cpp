// Where are the traces of a run? See traces.hpp.
#include "bench/traces.hpp"

#include <fmt/format.h>

#include "bench/machine.hpp"
#include "bench/record.hpp"
#include "bench/self_checks.hpp"
#include "bench/text.hpp"
#include "impl/models/registry.hpp"
#include "profilers/chrome_trace.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string file_of(const std::string& id) { return "traces/" + id + ".json"; }
std::string file_of(const std::string& id, std::size_t rank) {
  return fmt::format("traces/{}/rank{}.json", id, rank);
}

TraceAbout about(const Cell& c, const Training& t, const TrainingReport& r) {
  TraceAbout out{.program = "shardmark " + version_text(),
                 .cell = id_of(c),
                 .backend = fmt::format("{} {}", c.comm, c.collectives),
                 .units = {},
                 .first_step = t.warmup,
                 .one_clock = r.clocks_comparable,
                 .two_queues = t.overlap};
  for (const Unit& u : make_architecture(t.model, t.sequence, t.batch).units)
    out.units.push_back(u.name);
  return out;
}

}  // namespace

void add_traces(const Cell& c, const Training& t, const TrainingReport& r, json& sections) {
  if (!c.trace) return;
  const TraceAbout what = about(c, t, r);
  std::vector<RankTrace> ranks;
  for (const RankReport& rank : r.ranks) {
    const auto first = rank.steps.begin() + t.warmup;
    ranks.push_back({rank.traced, {first, first + t.steps}});
  }
  json texts = json::array();
  for (std::size_t i = 0; i < ranks.size(); ++i) texts.push_back(analyzer_trace(ranks, i, what));
  sections["traces"] = {{"file", chrome_trace(ranks, what)}, {"rank_files", std::move(texts)}};
}

void write_traces(const fs::path& folder, json& record) {
  const auto traces = record.find("traces");
  if (traces == record.end()) return;
  const std::string id = id_at(record);
  const auto put = [&](const std::string& file, json& text) {
    std::error_code ignored;  // a folder that is missing cannot be written to, either
    fs::create_directories((folder / file).parent_path(), ignored);
    write_whole_file("the trace", folder / file, text.get_ref<const std::string&>());
    text = file;
  };
  // What was measured is kept, whatever becomes of its picture.
  try {
    put(file_of(id), (*traces)["file"]);
    json& ranks = (*traces)["rank_files"];
    for (std::size_t i = 0; i < ranks.size(); ++i) put(file_of(id, i), ranks[i]);
  } catch (const InputError& e) {
    set_missing(record, "traces", e.what());
  }
}

bool lost_its_trace(const json& record) {
  const auto traces = record.find("traces");
  return traces != record.end() && traces->is_null();
}

std::string traces_text(const std::vector<json>& records, const fs::path& folder) {
  std::string text;
  for (const json& r : records)
    if (const auto it = r.find("traces"); it != r.end())
      text += fmt::format("  {}\n", it->is_null() ? text_at(r, "traces_reason")
                                                  : (folder / text_at(*it, "file")).string());
  if (text.empty()) return "";
  return "Traces, all ranks in one file:\n" + text +
         "Open one at https://ui.perfetto.dev (it stays in the browser) or in chrome://tracing. In "
         "the folder of the\nsame name is a file a rank, for HolisticTraceAnalysis and other "
         "analyzers of PyTorch's traces.\n";
}

}  // namespace shardmark
