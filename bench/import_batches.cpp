// Which batch does each rank take? Three sizes of which two give the third, and none may contradict
// the ranks.
#include <fmt/format.h>

#include "bench/import_parts.hpp"

namespace shardmark {

namespace {

constexpr const char* whole_key = "train_batch_size";
constexpr const char* micro_key = "train_micro_batch_size_per_gpu";
constexpr const char* steps_key = "gradient_accumulation_steps";
using Size = std::optional<std::int64_t>;

// given: what it is where the file does not say it.
Size size_of_key(ImportKeys& root, const char* key, std::int64_t most, const Size& given,
                 const char* who) {
  if (!root.is_auto(key)) return root.has(key) ? root.whole(key, 1, most) : given;
  if (!given) root.leave_open(key, who);
  return given;
}

// The quotient that must be whole.
std::int64_t part(const ImportKeys& root, std::int64_t whole, std::int64_t by, const char* of) {
  if (whole % by != 0)
    root.refuse(whole_key, fmt::format("must be a multiple of {}, which is {}", by, of));
  return whole / by;
}

void ranks_of(ImportKeys& root, std::int64_t whole, std::int64_t micro, std::int64_t steps,
              const Size& ranks) {
  if (!ranks) {
    const std::int64_t n =
        part(root, whole, micro * steps, "a rank's micro-batch times the micro-steps");
    return root.map(whole_key, "--ranks", fmt::to_string(n),
                    fmt::format("{} = {} x {} x {} ranks", whole, micro, steps, n));
  }
  if (whole != micro * steps * *ranks)
    root.refuse(whole_key, fmt::format("a micro-batch of {} x {} micro-steps x {} ranks is {}",
                                       micro, steps, *ranks, micro * steps * *ranks));
  root.say_mapped(whole_key, fmt::format("= {} x {} x {} ranks", micro, steps, *ranks));
}

void map_steps(ImportKeys& root, std::int64_t steps) {
  root.map(steps_key, "--accumulate", fmt::to_string(steps));
}

// The whole batch is there, a rank's part of it is not.
void split_whole(ImportKeys& root, std::int64_t whole, const Size& steps, const Size& ranks) {
  if (!ranks || !steps) {
    if (ranks) (void)part(root, whole, *ranks, "the ranks");
    if (steps) (void)part(root, whole, *steps, "the micro-steps");
    return root.map(whole_key, "--global-batch", fmt::to_string(whole), "of all ranks a step");
  }
  const std::int64_t micro = part(root, whole, *ranks * *steps, "the ranks times the micro-steps");
  root.map(whole_key, "--batch", fmt::to_string(micro),
           fmt::format("{} / ({} ranks x {} micro-steps)", whole, *ranks, *steps));
}

}  // namespace

std::optional<std::int64_t> import_batches(ImportKeys& root, const ImportFacts& facts) {
  const Size& ranks = facts.ranks;
  const Size whole =
      size_of_key(root, whole_key, 1'000'000'000, {}, "follows from the others and the ranks");
  const Size micro = size_of_key(root, micro_key, 1'000'000, facts.batch,
                                 "per_device_train_batch_size of the Trainer; give --batch");
  Size steps = size_of_key(root, steps_key, 10'000, facts.accumulate,
                           "gradient_accumulation_steps of the Trainer; give --accumulate");
  const bool open_steps = root.is_auto(steps_key) && !steps;
  if (micro) root.map(micro_key, "--batch", fmt::to_string(*micro));
  if (whole && micro && !steps && !open_steps) {
    // As DeepSpeed does: the micro-steps follow.
    if (!ranks) {
      (void)part(root, *whole, *micro, "a rank's micro-batch");
      root.leave_open(whole_key,
                      fmt::format("ranks x micro-steps are {}; give --ranks", *whole / *micro));
      return {};
    }
    steps = part(root, *whole, *micro * *ranks, "a rank's micro-batch times the ranks");
    map_steps(root, *steps);
    root.say_mapped(whole_key, fmt::format("= {} x {} x {} ranks", *micro, *steps, *ranks));
    return steps;
  }
  if (!steps && !open_steps) steps = 1;
  if (steps) map_steps(root, *steps);
  if (whole && micro && steps) ranks_of(root, *whole, *micro, *steps, ranks);
  if (whole && micro && !steps)
    root.leave_open(whole_key, "ranks x micro-steps x --batch; give --accumulate");
  if (whole && !micro) split_whole(root, *whole, steps, ranks);
  if (!whole && !micro && !root.has(whole_key) && !root.has(micro_key))
    root.leave_open(micro_key, "without any batch size DeepSpeed refuses a file; give --batch");
  return steps;
}

}  // namespace shardmark
