// Where is every byte of one cell, and what does the formula say? See explain.hpp.
#include "bench/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/explain_parts.hpp"
#include "bench/record.hpp"
#include "bench/units.hpp"

namespace shardmark {

using namespace explained;

namespace {

using nlohmann::json;

// "8P/N" with its numbers put in: "8P/N = 8 x 694,272 / 2". T: the trainable parameters, where some
// are frozen.
std::string put_in(const std::string& formula, const json& bytes, const json& ranks) {
  if (formula.find('W') != formula.npos) return formula;  // its numbers have no room
  std::string text;
  for (const char c : formula) {
    if (c == 'P')
      text += " x " + whole(bytes["parameters"]);
    else if (c == 'T')
      text += " x " + whole(bytes["trainable"]);
    else if (c == 'N')
      text += whole(ranks);
    else if (c == '/')
      text += " / ";
    else
      text += c;
  }
  return formula + " = " + text;
}

void held_row(Grid& grid, const json& h, const std::string& formula) {
  grid.row({"  " + h["tag"].get<std::string>(), h["dtype"].get<std::string>(), formula,
            whole(h["textbook_bytes"]), whole(h["exact_bytes"]), whole(h["measured_bytes"]),
            difference(h["measured_bytes"], h["exact_bytes"])});
}

std::string bytes_section(const json& r) {
  const json& b = r["bytes"];
  const json& ranks = r["cell"]["ranks"];
  const json& s = b["model_state"];
  Grid table(3);
  table.row({"  tag", "type", "formula", "textbook", "exact", "measured", "difference"});
  for (const json& h : b["held"])
    if (h["model_state"].get<bool>())
      held_row(table, h, h["formula"].is_string() ? put_in(h["formula"], b, ranks) : none);
  table.row({"  model states", "", "the five tags", whole(s["textbook_bytes"]),
             whole(s["exact_bytes"]), whole(s["measured_bytes"]),
             difference(s["measured_bytes"], s["exact_bytes"])});
  const auto fp32 = [&](const char* key) {
    double total = 0;
    for (const json& h : b["held"])
      if (h["model_state"].get<bool>() && h["dtype"] == "f32" && h[key].is_number())
        total += h[key].get<double>();
    return json(total);
  };
  table.row({"  of them in f32", "f32", "", whole(fp32("textbook_bytes")),
             whole(fp32("exact_bytes")), whole(s["fp32_measured_bytes"]),
             difference(s["fp32_measured_bytes"], fp32("exact_bytes"))});
  table.row({"  padding", "", "exact - textbook", "",
             difference(s["exact_bytes"], s["textbook_bytes"]), "", ""});
  for (const json& h : b["held"])
    if (!h["model_state"].get<bool>()) held_row(table, h, none);
  table.row({"  peak", "", "all tags at one moment", "", "", whole(b["peak_bytes"]), ""});
  const double states = s["measured_bytes"];
  const double kept_whole = b.value("kept_whole", 0.0);
  const bool frozen = b["trainable"] != b["parameters"];
  std::string text = fmt::format(
      "BYTES a rank holds, each tag at its own worst moment     P = {}   {}N = {}\n\n{}",
      whole(b["parameters"]), frozen ? "T = " + whole(b["trainable"]) + "   " : "", whole(ranks),
      table.text());
  text += wrapped(
      fmt::format(
          "  difference: measured - exact. exact counts the padding, {} "
          "elements of the whole layout. "
          "The model states are {} of the peak.{}{}",
          whole(b["padding_elements"]),
          percent(states / std::max(1.0, b["peak_bytes"].get<double>())),
          frozen ? " T: the parameters that are not frozen." : "",
          kept_whole > 0 ? " W = " + grouped(kept_whole) + ": the elements that stay whole." : ""),
      columns, "  ");
  return text + "\n";
}

std::string rates_text(const json& x) {
  std::string text = x["tokens_per_second"].is_number()
                         ? "  " + whole(x["tokens_per_second"]) + " tokens/s"
                         : "  no tokens/s: " + why(x, "tokens_per_second");
  text += fmt::format("; {} a rank and step", with_unit(x["flops_per_step"], "FLOP", 4));
  if (!x["matrix_share"].is_number())
    return text + "; no share of the matrix rate: " + why(x, "matrix_share");
  text += fmt::format("; {} of the rate of its matrix products", percent(x["matrix_share"]));
  if (x["matrix_flops_per_second"].is_number())
    text +=
        fmt::format(", which is {} a rank", with_unit(x["matrix_flops_per_second"], "FLOP/s", 4));
  if (x.contains("products")) text += ", by " + text_at(x, "products");
  return text;
}

std::string time_section(const json& r) {
  const json& m = r["time"]["median"];
  const double step = m["step_ns"];
  const auto ms = [](double ns) { return fmt::format("{:.3f}", ns * 1e-6); };
  Grid grid(1);
  grid.row({"  ", "ms", "of the step"});
  for (const char* part :
       {"forward", "recompute", "backward", "clip", "update", "exposed", "other"}) {
    const double ns = m[std::string(part) + "_ns"];
    if (ns > 0 || part != std::string_view("recompute"))
      grid.row({fmt::format("  {}", part), ms(ns), percent(ns / step)});
  }
  grid.row({"  step", ms(step), percent(1)});
  grid.row({"  hidden, beside compute", ms(m["hidden_ns"]),
            percent(m["hidden_ns"].get<double>() / step)});
  grid.row({"  reduce", ms(m["reduce_ns"]), percent(m["reduce_ns"].get<double>() / step)});
  grid.row({"  gather", ms(m["gather_ns"]), percent(m["gather_ns"].get<double>() / step)});
  grid.row(
      {"  waiting for the last rank", m["skew_ns"].is_number() ? ms(m["skew_ns"]) : none,
       m["skew_ns"].is_number() ? percent(m["skew_ns"].get<double>() / step) : why(m, "skew_ns")});
  if (m.value("transfer_ns", json()).is_number())
    grid.row({"  transfer, of all ranks", ms(m["transfer_ns"]),
              percent(m["transfer_ns"].get<double>() / step)});
  if (m.value("ideal_hidden_ns", json()).is_number())
    grid.row({"  hidden in an ideal replay", ms(m["ideal_hidden_ns"]),
              percent(m["ideal_hidden_ns"].get<double>() / step)});
  std::string steps;
  for (const json& ns : r["time"]["step_ns"]) steps += " " + ms(ns);
  std::string text = fmt::format("TIME of step {}, the median, on rank {}, its slowest\n\n{}",
                                 m["step"].get<int>(), m["rank"].get<int>(), grid.text());
  text += wrapped("  every measured step, ms:" + steps, columns, "  ") + "\n";
  text += wrapped(rates_text(r["rates"]), columns, "  ");
  return text + "\n";
}

std::string four_decimals(double v) { return readable(v, 4); }
std::string in_full(double v) { return fmt::to_string(v); }  // a power of two

std::string by_step(const json& in, const char* key, const char* title,
                    std::string (*written)(double) = four_decimals) {
  if (!in[key].is_array()) return fmt::format("  {} {} ({})\n", title, none, why(in, key));
  std::string text = fmt::format("  {}", title);
  for (const json& v : in[key])
    text += " " + (v.is_number() ? written(v.get<double>()) : "not-finite");
  return wrapped(text, columns, "              ") + "\n";
}

std::string skipped_at(const json& t) {
  const auto steps = t.value("skipped_at", std::vector<int>());
  return steps.empty() ? "" : fmt::format(" (at {})", fmt::join(steps, ", "));
}

std::string training_section(const json& r) {
  const json& t = r["training"];
  return "TRAINING, by step, warm-up included\n\n" + by_step(t, "loss", "loss       ") +
         by_step(t, "norm_before", "norm before") + by_step(t, "norm_after", "norm after ") +
         (t.value("loss_scale", json()).is_array()
              ? by_step(t, "loss_scale", "loss scale ", in_full)
              : "") +
         wrapped(fmt::format("  skipped steps {}{}, hash of all parameters at the end {}",
                             t["skipped_steps"].get<int>(), skipped_at(t),
                             t["parameter_hash"].get<std::string>()),
                 columns, "  ") +
         "\n";
}

std::string resident_section(const json& r) {
  const json& w = r["resident"];
  Grid grid(1);
  const auto line = [&](const std::string& title, const char* key, const std::string& more) {
    grid.row({"  " + title, whole(w[key]), w[key].is_null() ? why(w, key) : more});
  };
  line("resident before the ranks started", "before_bytes", "");
  line("resident at its most", "peak_bytes", "");
  line(fmt::format("peaks of {} ledgers, summed", whole(r["cell"]["ranks"])), "ledger_bytes", "");
  line("not explained by them", "unexplained_bytes",
       w["unexplained_share"].is_number() ? percent(w["unexplained_share"]) + " of what was added"
                                          : "");
  return "PROCESS, as the system sees it: a witness outside of the ledgers, bytes\n\n" +
         grid.text();
}

std::string checks_section(const json& r) {
  std::string text = "CHECKS\n\n";
  for (const char* check : {"bytes_exact", "traffic_exact", "moved_agrees", "ranks_agree",
                            "nothing_left", "norms_agree", "loss_finite", "trained"}) {
    const json& value = r["checks"].value(check, json());
    text += wrapped(value == true ? fmt::format("  {:14} yes", check)
                    : value == false
                        ? fmt::format("  {:14} NO: {}", check, why(r["checks"], check))
                        : fmt::format("  {:14} {} ({})", check, none, why(r["checks"], check)),
                    columns, "                 ") +
            "\n";
  }
  return text;
}

}  // namespace

std::string explain(const json& record) {
  std::string text = opening(record);
  if (record["status"] != "ok")
    return text + "\n" + wrapped(record.value("reason", "no reason given"), columns) + "\n";
  struct Section {
    const char* key;
    std::string (*write)(const json&);
  };
  for (const Section& s :
       {Section{"bytes", bytes_section}, Section{"traffic", traffic_section},
        Section{"time", time_section}, Section{"profile", profile_section},
        Section{"training", training_section}, Section{"resident", resident_section},
        Section{"checks", checks_section}}) {
    if (!record.contains(s.key)) continue;  // a profile is of a profiled cell alone
    text +=
        "\n" + (record[s.key].is_object()
                    ? s.write(record)
                    : wrapped(fmt::format("no {}: {}", s.key, why(record, s.key)), columns) + "\n");
  }
  return text;
}

}  // namespace shardmark
