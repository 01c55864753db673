// How does one figure become a file without a browser? See report_page.hpp.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "bench/embedded.hpp"
#include "bench/report_page.hpp"
#include "bench/text.hpp"
#include "kernels/error.hpp"

extern char** environ;

namespace shardmark {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "shardmark-figure-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "no temporary folder could be made");
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

// Its exit code; -1 where there is no such program. Standard input is empty.
int run_tool(const std::vector<std::string>& command, const std::string& out,
             const std::string& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return -1;
  require(error == 0, fmt::format("{} could not be started", command[0]));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    require(errno == EINTR, fmt::format("{} could not be waited for", command[0]));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

void write_text(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  require(static_cast<bool>(out), "a temporary file could not be written");
}

std::string svg_of(const Scratch& scratch, const json& data, const FigureOptions& options) {
  const json spec = json::parse(embedded(options.name + ".vg.json"));
  const json asked = {{"name", options.name}, {"dark", options.dark}, {"metric", options.metric}};
  const std::string program =
      fmt::format("{}\n{}{}\nrender({}, {}, {}, {});\n", embedded("vega.js"), drawing_scripts(),
                  embedded("render.js"), script_json(data), script_json(spec),
                  embedded("palette.json"), script_json(asked));
  write_text(scratch / "figure.js", program);
  const int code = run_tool({"node", scratch / "figure.js"}, scratch / "svg", scratch / "why");
  if (code == -1)
    throw InputError(
        "--figure needs the program node to draw without a browser; install nodejs, or open the "
        "report in a browser.");
  const std::string why = trimmed(read_whole_file("figure", scratch / "why"));
  if (code == 3) throw InputError(why);  // render.js: there is nothing to draw
  require(code == 0, fmt::format("node ended with code {}: {}", code, why.substr(0, 400)));
  return read_whole_file("figure", scratch / "svg");
}

}  // namespace

std::string report_figure(const json& data, const FigureOptions& options) {
  if (const std::string why = why_no_figures(); !why.empty()) throw InputError(why);
  const Scratch scratch;
  const std::string svg = svg_of(scratch, data, options);
  if (!options.png) return svg;
  write_text(scratch / "figure.svg", svg);
  const int code = run_tool({"rsvg-convert", "--zoom", "2", scratch / "figure.svg"},
                            scratch / "png", scratch / "why");
  if (code == -1)
    throw InputError(
        "a PNG needs the program rsvg-convert; install librsvg2-bin, or write an .svg.");
  require(code == 0, fmt::format("rsvg-convert ended with code {}: {}", code,
                                 read_whole_file("figure", scratch / "why").substr(0, 400)));
  return read_whole_file("figure", scratch / "png");
}

}  // namespace shardmark
