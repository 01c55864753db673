// How well are published measurements predicted? ci/score_published builds and runs this:
// published_score FILE.csv
#include <fmt/format.h>

#include "bench/published_score.hpp"
#include "bench/text.hpp"
#include "kernels/error.hpp"

int main(int count, char** given) {
  using namespace shardmark;
  try {
    if (count != 2) throw InputError("give one file, such as results/published/fsdp_training.csv.");
    const std::string file = given[1];
    fmt::print("{}", score_text(score_published(
                         read_published(read_whole_file("published_score", file), file))));
  } catch (const InputError& e) {
    fmt::print(stderr, "published_score: {}\n", e.what());
    return 2;
  }
}
