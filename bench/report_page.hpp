#pragma once
// How do data and figures become one page that needs nothing else, and one figure a file of its
// own? Texts of plots/ and Vega travel in the binary.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shardmark {

// In the order of the page.
const std::vector<std::string>& figure_names();

// What --metric of the figure history may be.
const std::vector<std::string>& history_metrics();

// The scripts that the page and a figure in a file draw with.
std::string drawing_scripts();

// Empty where the build has found Vega, else the sentence that says what to do.
std::string why_no_figures();

// JSON that can stand in a page's <script> or in a program: no "<", nothing but ASCII.
std::string script_json(const nlohmann::json&);

// The page. Throws InputError where the build has no Vega.
std::string report_page(const nlohmann::json& data);

struct FigureOptions {
  std::string name;             // of figure_names()
  bool png = false;             // else SVG
  bool dark = false;            // else light
  std::string metric = "step";  // of history_metrics(), for the figure history
};
// One figure's bytes, by node (and rsvg-convert). Throws InputError: no such figure, a tool that is
// missing, data without anything for this figure.
std::string report_figure(const nlohmann::json& data, const FigureOptions&);

}  // namespace shardmark
