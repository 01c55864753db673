// Is the house as the README draws it? Reads the sources: which folder includes which, where
// foreign headers may stand, how long files and functions are.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
const fs::path root = SHARDMARK_SOURCE_DIR;
const std::vector<std::string> floors = {"profilers", "kernels", "impl",
                                         "bench"};  // each may include those before it

struct Source {
  std::string path;  // from the root
  std::vector<std::string> lines, includes;
};

std::string folder_of(const std::string& path) { return path.substr(0, path.find('/')); }

std::vector<Source> sources() {
  std::vector<Source> all;
  static const std::regex include(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  for (const std::string folder : {"profilers", "kernels", "impl", "bench", "results", "ci"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".hpp" && extension != ".cu" && extension != ".cuh")
        continue;
      Source s{fs::relative(entry.path(), root).generic_string(), {}, {}};
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        if (std::smatch m; line.find('#') != line.npos && std::regex_search(line, m, include))
          s.includes.push_back(m[1]);
        s.lines.push_back(line);
      }
      all.push_back(std::move(s));
    }
  return all;
}

// One of our own files, whether it is named from the root or from beside the one that includes it;
// else empty.
std::string ours(const Source& s, const std::string& name) {
  for (const fs::path& from : {root, (root / s.path).parent_path()})
    if (fs::exists(from / name))
      return fs::relative(from / name, root).lexically_normal().generic_string();
  return "";
}

// Characters, not bytes: what continues one in UTF-8 is no column of its own.
long columns(const std::string& line) {
  return std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

bool starts_with_any(const std::string& text, const std::vector<std::string>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const auto& b) { return text.starts_with(b); });
}

TEST(Structure, ThereAreSourcesToLookAt) { EXPECT_GT(sources().size(), 50u); }

TEST(Structure, ArrowsGoOneWay) {
  const auto floor = [](const std::string& folder) {
    return std::find(floors.begin(), floors.end(), folder) - floors.begin();
  };
  for (const Source& s : sources())
    for (const std::string& name : s.includes) {
      const std::string target = ours(s, name);
      if (target.empty() || floor(folder_of(s.path)) == static_cast<long>(floors.size())) continue;
      EXPECT_LE(floor(folder_of(target)), floor(folder_of(s.path)))
          << s.path << " includes " << target;
    }
}

TEST(Structure, NoCircles) {
  std::map<std::string, std::vector<std::string>> graph;
  for (const Source& s : sources())
    for (const std::string& name : s.includes)
      if (const std::string target = ours(s, name); !target.empty())
        graph[s.path].push_back(target);
  std::set<std::string> done, open;
  const std::function<void(const std::string&)> visit = [&](const std::string& file) {
    if (done.contains(file)) return;
    ASSERT_TRUE(open.insert(file).second) << file << " includes itself on a detour";
    for (const std::string& next : graph[file]) visit(next);
    open.erase(file);
    done.insert(file);
  };
  for (const auto& [file, targets] : std::map(graph)) visit(file);
}

TEST(Structure, ForeignHeadersStayInTheirRooms) {
  for (const Source& s : sources())
    for (const std::string& name : s.includes) {
      if (starts_with_any(name, {"cuda", "cublas", "cub/", "cupti", "nvtx3/", "nccl"})) {
        EXPECT_TRUE(starts_with_any(s.path, {"kernels/cuda/", "profilers/", "impl/comm/nccl"}))
            << s.path << " includes " << name;
      }
      if (name.starts_with("nvtx3/")) {
        EXPECT_TRUE(starts_with_any(s.path, {"profilers/nvtx.", "profilers/nvtx_recorder."}))
            << s.path << " includes " << name;
      }
      if (name == "mpi.h") {
        EXPECT_TRUE(s.path.starts_with("impl/comm/mpi")) << s.path << " includes " << name;
      }
      if (name.find("dnnl") != std::string::npos) {
        EXPECT_EQ(s.path, "kernels/cpu/matmul_onednn.cpp") << "one file knows oneDNN";
      }
    }
}

TEST(Structure, AStrategyIsOneFileThatIncludesOneHeader) {
  int strategies = 0;
  for (const Source& s : sources()) {
    if (!s.path.starts_with("impl/strategies/") || !s.path.ends_with(".cpp") ||
        s.path.ends_with("_test.cpp"))
      continue;
    ++strategies;
    for (const std::string& name : s.includes)
      EXPECT_TRUE(ours(s, name).empty() || name == "impl/strategies/strategy.hpp") << s.path;
    const std::size_t most = s.path.ends_with("zero3.cpp") ? 130 : 90;
    EXPECT_LE(s.lines.size(), most) << s.path;
  }
  EXPECT_GE(strategies, 6);
}

TEST(Structure, FilesAndLinesAreShort) {
  for (const Source& s : sources()) {
    EXPECT_LE(s.lines.size(), 300u) << s.path;
    for (std::size_t i = 0; i < s.lines.size(); ++i)
      EXPECT_LE(columns(s.lines[i]), 100) << s.path << ":" << i + 1;
  }
}

// What the page is made of: its figures are specs, which have no comments.
TEST(Structure, ThePageIsOfShortFilesThatSayWhatTheyAreFor) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(root / "plots")) {
    const std::string extension = entry.path().extension();
    if (extension != ".js" && extension != ".css") continue;
    ++files;
    std::ifstream in(entry.path());
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      EXPECT_LE(number, 300) << entry.path();
      EXPECT_LE(columns(line), 100) << entry.path() << ":" << number;
      if (number == 1) {
        EXPECT_TRUE(starts_with_any(line, {"//", "/*"})) << entry.path();
      }
    }
  }
  EXPECT_GT(files, 5);
}

// By the layout that clang-format gives: a body begins on a line that ends in "{" and ends with "}"
// at the same indentation.
TEST(Structure, FunctionsAreShort) {
  static const std::regex opens(
      R"(^(\s*)(?!namespace|class|struct|enum|union|extern)[^/].*\)?.*\{$)");
  static const std::regex is_function(
      R"(\)( const)?( noexcept)?( override)?( final)?( -> .*)? \{$)");
  for (const Source& s : sources())
    for (std::size_t i = 0; i < s.lines.size(); ++i) {
      std::smatch m;
      const std::string& line = s.lines[i];
      if (!line.ends_with("{") || !std::regex_search(line, m, opens) ||
          !std::regex_search(line, is_function))
        continue;
      // A wrapped signature is indented further than the line where it starts.
      std::size_t first = i;
      const auto indent_of = [&](const std::string& l) {
        return std::min(l.find_first_not_of(' '), l.size());
      };
      while (first > 0 && !s.lines[first - 1].empty() && !s.lines[first - 1].ends_with(";") &&
             !s.lines[first - 1].ends_with("{") && !s.lines[first - 1].ends_with("}") &&
             !s.lines[first - 1].ends_with(":") &&
             s.lines[first - 1].find("//") == s.lines[first - 1].npos)
        --first;
      const auto closes = [&](const std::string& l) {
        return indent_of(l) < l.size() && l[indent_of(l)] == '}' &&
               indent_of(l) <= indent_of(s.lines[first]);
      };
      std::size_t last = i + 1;
      while (last < s.lines.size() && !closes(s.lines[last])) ++last;
      EXPECT_LE(last - i, 60u) << s.path << ":" << i + 1;
    }
}

TEST(Structure, EveryFileSaysWhichQuestionItAnswers) {
  for (const Source& s : sources()) {
    const bool pragma = s.path.ends_with(".hpp") || s.path.ends_with(".cuh");
    const bool has_header =
        !pragma && fs::exists(root / fs::path(s.path).replace_extension(".hpp"));
    if (has_header) continue;  // its header says it
    ASSERT_GT(s.lines.size(), 2u) << s.path;
    EXPECT_TRUE(s.lines[pragma ? 1 : 0].starts_with("//")) << s.path;
  }
}

}  // namespace
