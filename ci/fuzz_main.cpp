// Does a fuzz target survive any bytes, where no libFuzzer is there to try them? What stands in its
// place: NAME CORPUS SECONDS [LIMIT] gives the target every file of the corpus as it is, then
// changes of them until the time is up, the same ones in every run. The target runs in a process of
// its own; this one looks on, and keeps and names the input that ends it, computes for more than a
// second or does not come back within LIMIT seconds.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes = 1 << 16;
constexpr double input_limit_s = 1;  // of its own processor time: others may be at work beside it
constexpr double blocked_limit_s = 30;  // of an input that waits, which takes no processor time

struct Entry {
  std::string name, text;
};

// Both processes see it: what is being tried.
struct Current {
  std::atomic<std::uint64_t> number = 0;
  std::atomic<std::size_t> size = 0;
  char name[256] = "";
  char bytes[most_bytes];
};

std::vector<Entry> corpus_of(const fs::path& folder) {
  std::vector<Entry> all;
  for (const auto& file : fs::directory_iterator(folder)) {
    std::ifstream in(file.path(), std::ios::binary);
    all.push_back({file.path().filename().string(),
                   {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()}});
  }
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return all;
}

// Bytes are turned, cut, doubled, exchanged for those of another entry and for what readers stumble
// over.
class Changes {
 public:
  explicit Changes(const std::vector<Entry>& corpus) : corpus_(corpus) {}

  Entry next() {
    Entry e = corpus_[below(corpus_.size())];
    for (std::size_t times = 1 + below(6); times > 0; --times) change(e.text);
    if (e.text.size() > most_bytes) e.text.resize(most_bytes);
    return e;
  }

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }

  const char* odd() {
    static constexpr const char* all[] = {
        "null",    "-1",    "1e999", "NaN",  "18446744073709551616",
        "0.5",     "[",     "{",     "\"",   "#",
        "/*",      "\xff",  "- ",    "? ",   "0",
        "&a",      "*a",    "true",  "auto", ": ",
        "\t",      "|\n",   "}",     "]",    ",",
        "<<: ",    "---\n", "...\n", "!!",   "\\u0000",
        "1000000", "\n"};
    return all[below(std::size(all))];
  }

  void change(std::string& text) {
    const std::size_t at = below(text.size()), length = below(1 + below(60));
    switch (below(8)) {
      case 0:
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 1:
        if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      case 3:
        text.erase(at, length);
        break;
      case 4:
        text.insert(at, odd());
        break;
      case 5:
        value(text, at);
        break;
      case 6:
        many(text, at);
        break;
      default:
        splice(text, at, length);
    }
  }

  void value(std::string& text, std::size_t at) {
    const std::size_t colon = text.find(": ", at);
    if (colon == std::string::npos) return;
    const std::size_t end = std::min(text.find_first_of(",}\n", colon), text.size());
    text.replace(colon + 2, end - colon - 2, odd());
  }

  void many(std::string& text, std::size_t at) {
    std::string all;
    const std::string one = odd();
    for (std::size_t times = below(1 + below(3000)); times > 0; --times) all += one;
    text.insert(at, all);
  }

  void splice(std::string& text, std::size_t at, std::size_t length) {
    const std::string& other = corpus_[below(corpus_.size())].text;
    const std::size_t from = below(other.size());
    text.replace(at, length, other.substr(from, below(1 + below(200))));
  }

  const std::vector<Entry>& corpus_;
  std::mt19937_64 random_{20240607};
};

// 0: nothing came of it.
int try_one(const Entry& e, Current& current) {
  std::snprintf(current.name, sizeof current.name, "%s", e.name.c_str());
  current.size = std::min(e.text.size(), most_bytes);
  std::memcpy(current.bytes, e.text.data(), current.size);
  ++current.number;
  try {
    return LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(e.text.data()),
                                  e.text.size());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "it threw: %s\n", error.what());
    return 1;
  }
}

int try_all(const std::vector<Entry>& corpus, double seconds, Current& current) {
  using clock = std::chrono::steady_clock;
  const auto end = clock::now() + std::chrono::duration<double>(seconds);
  for (const Entry& e : corpus)
    if (try_one(e, current) != 0) return 1;
  for (Changes changes(corpus); clock::now() < end;)
    if (try_one(changes.next(), current) != 0) return 1;
  return 0;
}

double processor_seconds(pid_t of) {
  clockid_t id;
  timespec t{};
  if (clock_getcpuclockid(of, &id) != 0 || clock_gettime(id, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

int report(const std::string& target, const Current& current, const std::string& what) {
  const std::string file = target + ".failed";
  std::ofstream(file, std::ios::binary)
      .write(current.bytes, static_cast<std::streamsize>(current.size.load()));
  std::fprintf(stderr, "%s: input %llu, made from %s, %s; it is kept in %s\n", target.c_str(),
               static_cast<unsigned long long>(current.number.load()), current.name, what.c_str(),
               file.c_str());
  return 1;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Until the child ends, or is ended. limit_s: of an input, by the clock on the wall.
int watch(pid_t child, const std::string& target, const Current& current, double limit_s) {
  std::uint64_t number = 0;
  double since = 0, since_wall = seconds_now();
  for (int status = 0;;) {
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        std::printf("%s: %llu inputs\n", target.c_str(),
                    static_cast<unsigned long long>(current.number.load()));
        return 0;
      }
      return report(target, current,
                    WIFSIGNALED(status) ? std::string("ended it by ") + strsignal(WTERMSIG(status))
                                        : "failed");
    }
    const double now = processor_seconds(child), now_wall = seconds_now();
    if (current.number != number) number = current.number, since = now, since_wall = now_wall;
    const bool computes = now - since > input_limit_s;
    if (computes || now_wall - since_wall > limit_s) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return report(target, current, computes ? "took more than a second" : "did not come back");
    }
    usleep(20'000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string target = fs::path(argv[0]).filename().string();
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: %s CORPUS SECONDS [LIMIT]\n", target.c_str());
    return 2;
  }
  std::error_code error;
  if (!fs::is_directory(argv[1], error) || fs::is_empty(argv[1], error)) {
    std::fprintf(stderr, "%s: %s is no folder with files in it\n", target.c_str(), argv[1]);
    return 2;
  }
  const std::vector<Entry> corpus = corpus_of(argv[1]);
  void* shared =
      mmap(nullptr, sizeof(Current), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  auto& current = *new (shared) Current();
  const pid_t child = fork();
  if (child < 0) return 2;
  if (child == 0) _exit(try_all(corpus, std::atof(argv[2]), current));
  return watch(child, target, current, argc == 4 ? std::atof(argv[3]) : blocked_limit_s);
}
