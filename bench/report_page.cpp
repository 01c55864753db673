// How do data and figures become one page? See report_page.hpp.
#include "bench/report_page.hpp"

#include <fmt/format.h>

#include <string_view>

#include "bench/embedded.hpp"
#include "kernels/error.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

std::string scripts(const std::vector<const char*>& names) {
  std::string text;
  for (const char* name : names) text += std::string(embedded(name)) + "\n";
  return text;
}

// Markers are @@NAME@@, each once; what is put in is not looked at again.
std::string filled(std::string_view page, const json& texts) {
  std::string out;
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t begin = page.find("@@", at);
    if (begin == page.npos) return out + std::string(page.substr(at));
    const std::size_t end = page.find("@@", begin + 2);
    require(end != page.npos, "page.html has a marker without an end");
    out += page.substr(at, begin - at);
    out += texts.at(std::string(page.substr(begin + 2, end - begin - 2))).get<std::string>();
    at = end + 2;
  }
  return out;
}

std::string html_text(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

json specs() {
  json all = json::object();
  for (const std::string& name : figure_names())
    all[name] = json::parse(embedded(name + ".vg.json"));
  return all;
}

}  // namespace

const std::vector<std::string>& figure_names() {
  static const std::vector<std::string> names = {"step-time", "bytes",    "tradeoff",
                                                 "scaling",   "volume",   "bandwidth",
                                                 "loss",      "timeline", "history"};
  return names;
}

const std::vector<std::string>& history_metrics() {
  static const std::vector<std::string> names = {"step", "exposed", "tokens",
                                                 "peak", "states",  "volume"};
  return names;
}

// In the order in which they build on each other.
std::string drawing_scripts() {
  return scripts({"words.js", "labels.js", "tables.js", "point_tables.js", "collectives_table.js",
                  "curve_tables.js", "timeline_table.js", "theme.js"});
}

std::string why_no_figures() {
  if (!embedded("vega.js").empty()) return "";
  return "this build has no Vega to draw with; install libjs-vega, then configure and build again.";
}

std::string script_json(const json& value) {
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";  // it stands in strings only
    } else {
      out += c;
    }
  }
  return out;
}

std::string report_page(const json& data) {
  if (const std::string why = why_no_figures(); !why.empty()) throw InputError(why);
  const json& run = data.at("runs").front();
  const std::string title = fmt::format("shardmark · {} · {}", run.at("suite").get<std::string>(),
                                        run.at("id").get<std::string>());
  return filled(embedded("page.html"),
                {{"title", html_text(title)},
                 {"style", embedded("page.css")},
                 {"data", script_json(data)},
                 {"specs", script_json(specs())},
                 {"palette", embedded("palette.json")},
                 {"vega", embedded("vega.js")},
                 {"script", drawing_scripts() + scripts({"figure.js", "matrix.js", "cell.js",
                                                         "score.js", "page.js"})}});
}

}  // namespace shardmark
