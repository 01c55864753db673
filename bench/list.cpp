// What can this build run? See list.hpp.
#include "bench/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bench/registry.hpp"
#include "bench/units.hpp"
#include "impl/comm/mpi.hpp"
#include "impl/comm/nccl.hpp"
#include "impl/models/registry.hpp"
#include "impl/strategies/strategy.hpp"
#include "kernels/cpu/math.hpp"
#include "kernels/cuda/device.hpp"
#include "profilers/cupti.hpp"
#include "profilers/nvml.hpp"
#include "profilers/nvtx.hpp"

namespace shardmark {

namespace {

constexpr std::size_t columns = 100, usual_sequence = 256;

struct Line {
  std::string name, fact, text;
};

// The text of each line stays in its own column, however long it is.
std::string section(const std::string& title, const std::vector<Line>& lines) {
  std::size_t name = 0, fact = 0;
  for (const Line& l : lines) {
    name = std::max(name, display_width(l.name));
    fact = std::max(fact, display_width(l.fact));
  }
  const std::size_t before = 2 + name + 2 + (fact > 0 ? fact + 2 : 0);
  std::string all = title + "\n";
  for (const Line& l : lines) {
    const std::string start =
        "  " + pad_right(l.name, name) + "  " + (fact > 0 ? pad_left(l.fact, fact) + "  " : "");
    const std::string text =
        wrapped(std::string(before, ' ') + l.text, columns, std::string(before, ' '));
    all += start + text.substr(before) + "\n";
  }
  return all + "\n";
}

std::vector<Line> models() {
  std::vector<Line> lines;
  for (const Preset& p : presets())
    lines.push_back({p.name, grouped(make_architecture(p.form, usual_sequence).parameter_count()),
                     fmt::format("{}; short for {}", p.summary, p.form)});
  return lines;
}

std::vector<Line> forms() {
  std::vector<Line> lines;
  for (const FreeForm& f : free_forms()) lines.push_back({f.pattern, "", f.summary});
  return lines;
}

std::vector<Line> known_strategies() {
  std::vector<Line> lines;
  for (const std::string& name : strategy_names())
    lines.push_back({name, "", strategies().at(name).summary});
  return lines;
}

std::vector<Line> precisions() {
  const auto products = [](DType t) { return "products by " + cpu::product_path(t); };
  return {{"fp32", "", products(DType::f32)},
          {"bf16", "", "beside fp32 master weights; " + products(DType::bf16)},
          {"fp16", "", "beside fp32 master weights, with a loss scale; " + products(DType::f16)},
          {"tf32", "", "fp32 whose products round their operands to 10 bits; on GPUs alone"}};
}

Line gpus() {
  const std::string why = cuda::why_none();
  if (!why.empty()) return {"cuda", "absent", why};
  std::string all;
  for (const cuda::Gpu& g : cuda::gpus()) all += (all.empty() ? "" : ", ") + g.name;
  return {"cuda", "here", all + "; " + cuda::library()};
}

std::vector<Line> profilers() {
  const Nvml nvml;
  const std::string driver = nvml.driver().empty() ? "" : "; driver " + nvml.driver();
  return {{"nvtx", nvtx::built() ? "here" : "absent",
           (nvtx::built() ? "ranges for Nsight Systems and others; "
                          : "there would be ranges for Nsight Systems; ") +
               nvtx::library()},
          {"cupti", cupti::built() ? "here" : "absent",
           (cupti::built() ? "what GPUs did, for --profile cupti; built with "
                           : "it would record what GPUs did; ") +
               cupti::library()},
          {"nvml", nvml.why_not().empty() ? "here" : "absent",
           nvml.why_not().empty() ? "clocks of GPUs beside their times" + driver : nvml.why_not()}};
}

}  // namespace

std::string list_text() {
  const std::string library = cpu::matrix_library();
  std::string text =
      section(fmt::format("models (--model), parameters counted at --sequence {}", usual_sequence),
              models()) +
      section("models of any shape (--model)", forms()) +
      section("strategies (--strategy)", known_strategies()) +
      section("precisions (--precision)", precisions()) +
      section("devices",
              {{"cpu", "here",
                fmt::format("kernels for {}, matrix products by {}", cpu::instruction_set(),
                            library == "plain" ? "plain loops" : library)},
               {"dry", "tests",
                "no memory, no arithmetic: counts bytes and calls, checks the order of accesses"},
               gpus()}) +
      section(
          "communicators",
          {{"thread", "here",
            "ranks are threads of one process; without a --link they read "
            "each other's memory, and sums "
            "in rank order repeat bit for bit"},
           {"dry", "tests", "counts what any number of ranks would send"},
           {"mpi", mpi::built() ? "here" : "absent",
            (mpi::built() ? "ranks are processes, on one host or many; "
                          : "ranks would be processes; ") +
                mpi::library()},
           {"nccl", nccl::built() ? "here" : "absent",
            (nccl::built() ? "between GPUs, of one host or many; " : "it would be between GPUs; ") +
                nccl::library()}}) +
      section("profilers", profilers());
  text.pop_back();  // no empty line at the end
  return text;
}

int list() {
  fmt::print("{}", list_text());
  return 0;
}

}  // namespace shardmark
